internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Closes a connection that takes too long. Hummingbird closes those on which nothing happens; a sender of one byte every
/// half second would hold one for ever. While the server is crowded, those that bring no whole request give way to others.
final class DeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var clock: RequestClock
    private let crowd: Crowd
    private let room: Room
    private var isCounted = false
    /// Somebody works for it.
    private var isWorkedFor = false
    /// The client has been told to go, and is told nothing else.
    private var isShed = false
    private var alarm: Scheduled<Void>?
    private var deadline = NIODeadline.distantFuture
    /// When it gives way; nil: it need not.
    private var givesWay: NIODeadline?

    init(clock: RequestClock, crowd: Crowd, room: Room) {
        self.clock = clock
        self.crowd = crowd
        self.room = room
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { open(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        open(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: note(.requestHead, context)
        case .body: break
        case .end:
            note(.requestEnd, context)
            work(clock.owesAnswer)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isShed else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head:
            note(.answerHead, context)
            work(false)
        // A part without bytes follows each piece, and comes as far as this when the connection has none left of it.
        case .body(let bytes): note(bytes.readableBytes > 0 ? .answerPart : .answerTaken, context)
        case .end: note(.answerEnd, context)
        }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end(context)
    }

    private func open(_ context: ChannelHandlerContext) {
        guard !isCounted else { return }
        isCounted = true
        crowd.enter(context.channel)
        note(.opened, context)
    }

    private func end(_ context: ChannelHandlerContext) {
        if isCounted { crowd.leave(context.channel) }
        isCounted = false
        isShed = true
        work(false)
        alarm?.cancel()
        alarm = nil
    }

    private func work(_ isNow: Bool) {
        guard isWorkedFor != isNow else { return }
        isWorkedFor = isNow
        if isNow { room.begin() } else { room.end() }
    }

    private func note(_ event: RequestClock.Event, _ context: ChannelHandlerContext) {
        switch clock.note(event) {
        case .stays: break
        case .forgives: givesWay = nil
        case .set(let seconds, let crowded):
            deadline = .now() + .seconds(Int64(seconds))
            givesWay = crowded.map { .now() + .seconds(Int64($0)) }
            // One that is set already looks by itself how much is left: an alarm for each event would cost more.
            if alarm == nil { schedule(context) }
        }
    }

    private func schedule(_ context: ChannelHandlerContext) {
        let this = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let next = min(deadline, givesWay ?? deadline, .now() + .seconds(Int64(clock.patience)))
        alarm = context.eventLoop.scheduleTask(deadline: next) {
            this.value.handler.look(this.value.context)
        }
    }

    private func look(_ context: ChannelHandlerContext) {
        alarm = nil
        let now = NIODeadline.now()
        if now >= deadline, clock.isReading {
            shed(context, .requestTimeout, "The request took too long to arrive.")
        } else if now >= deadline {
            shed(context, .serviceUnavailable, "The server took too long.")
        } else if let moment = givesWay, now >= moment, crowd.isCrowded {
            shed(context, .serviceUnavailable, "The server has no room for slow senders at this moment.")
        } else {
            // Whether there is a crowd is looked at again after as long.
            if let moment = givesWay, now >= moment { givesWay = now + .seconds(Int64(clock.patience)) }
            schedule(context)
        }
    }

    /// Ends the connection; with an answer, if one is owed that nobody has begun.
    private func shed(
        _ context: ChannelHandlerContext, _ status: HTTPResponse.Status, _ detail: String
    ) {
        isShed = true
        guard clock.owesAnswer else { return context.close(promise: nil) }
        var problem = Problem(status, detail)
        if status == .serviceUnavailable {
            var random = SystemRandomNumberGenerator()
            problem.retryAfter = Problem.busy(using: &random).retryAfter
        }
        let (head, body) = problem.farewell
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(promise: nil)
    }
}
