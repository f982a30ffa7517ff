package org.traccar;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import org.traccar.config.Config;
import org.traccar.model.Command;
import org.traccar.model.Position;
import org.traccar.session.DeviceSession;

import java.net.SocketAddress;
import java.util.Collection;
import java.util.Date;
import java.util.List;

/** Stands in for the server around a decoder: one device is known, and each position becomes a line of text. */
public abstract class BaseProtocolDecoder extends ChannelInboundHandlerAdapter {

    private static final String KNOWN = System.getProperty("device", "van1");

    /** Of commands nobody has any. */
    public static final class Commands {
        public Collection<Command> readQueuedCommands(long device, int count) {
            return List.of();
        }

        public void updateNotificationToken(long device, String token) {
        }
    }

    public BaseProtocolDecoder(Protocol protocol) {
        init();
    }

    protected void init() {
    }

    protected Config getConfig() {
        return new Config();
    }

    protected Commands getCommandsManager() {
        return new Commands();
    }

    public String getProtocolName() {
        return "osmand";
    }

    public DeviceSession getDeviceSession(Channel channel, SocketAddress address, String... ids) {
        return ids.length > 0 && KNOWN.equals(ids[0]) ? new DeviceSession() : null;
    }

    public void getLastLocation(Position position, Date time) {
        position.setOutdated(true);
    }

    protected double convertSpeed(double value, String unit) {
        if (!unit.equals("kn")) {
            throw new IllegalArgumentException(unit);
        }
        return value;
    }

    protected void sendQueuedCommands(Channel channel, SocketAddress address, long device) {
    }

    protected abstract Object decode(Channel channel, SocketAddress address, Object message) throws Exception;

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        try {
            Object decoded = decode(context.channel(), context.channel().remoteAddress(), message);
            if (decoded != null) {
                print((Position) decoded);
            }
        } finally {
            ReferenceCountUtil.release(message);
        }
    }

    /** As Traccar does with what a decoder cannot read. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        System.err.println(cause);
        context.close();
    }

    private static void print(Position position) {
        System.out.println("position\t" + position.getFixTime().getTime() + "\t" + position.getOutdated() + "\t"
                + position.getLatitude() + "\t" + position.getLongitude() + "\t" + position.getSpeed() + "\t"
                + position.getCourse() + "\t" + position.getAltitude() + "\t" + position.getAccuracy() + "\t"
                + position.getAttributes());
    }

}
