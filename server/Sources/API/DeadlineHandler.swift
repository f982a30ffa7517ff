internal import NIOCore
internal import NIOHTTPTypes

/// Closes a connection that takes too long. Hummingbird closes those on which nothing happens; a sender of one byte every
/// half second would hold one for ever.
final class DeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var clock: RequestClock
    private var alarm: Scheduled<Void>?

    init(clock: RequestClock) {
        self.clock = clock
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: note(.requestHead, context)
        case .body: break
        case .end: note(.requestEnd, context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head: note(.answerHead, context)
        case .body: note(.answerPart, context)
        case .end: note(.answerEnd, context)
        }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        cancel()
    }

    private func note(_ event: RequestClock.Event, _ context: ChannelHandlerContext) {
        switch clock.note(event) {
        case .stays: break
        case .off: cancel()
        case .set(let seconds):
            cancel()
            let channel = context.channel
            alarm = context.eventLoop.scheduleTask(in: .seconds(Int64(seconds))) {
                channel.close(promise: nil)
            }
        }
    }

    private func cancel() {
        alarm?.cancel()
        alarm = nil
    }
}
