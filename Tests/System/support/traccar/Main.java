import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseEncoder;
import org.traccar.NetworkMessage;
import org.traccar.protocol.OsmAndProtocolDecoder;

import java.net.InetSocketAddress;

/** The pipeline of Traccar's OsmAndProtocol, with its own decoder in it, on loopback. */
public final class Main {

    /** As in Traccar's pipeline, which puts it before the encoder. */
    static final class Unwrap extends ChannelOutboundHandlerAdapter {
        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            context.write(message instanceof NetworkMessage ? ((NetworkMessage) message).getMessage() : message, promise);
        }
    }

    public static void main(String[] arguments) throws Exception {
        ServerBootstrap bootstrap = new ServerBootstrap();
        bootstrap.group(new NioEventLoopGroup(1)).channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(new HttpResponseEncoder(), new HttpRequestDecoder(),
                                new HttpObjectAggregator(65535), new Unwrap(), new OsmAndProtocolDecoder(null));
                    }
                });
        InetSocketAddress address = (InetSocketAddress) bootstrap.bind("127.0.0.1", 0).sync().channel().localAddress();
        System.out.println("port\t" + address.getPort());
    }

    private Main() {
    }

}
