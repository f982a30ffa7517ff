internal import Base
internal import ControlProtocol
internal import Storage
internal import Tracking

/// Calls and their answers, pages of history and geofences, and events for those who subscribe.
extension ControlServer {
    /// Handles calls and sends answers until the client must send or read, or has had its share of the turn.
    func proceed(_ connection: ClientConnection, now: BootInstant) throws {
        let stopwatch = Stopwatch()
        var bytes = 0
        func isEnough() -> Bool {
            bytes + connection.outputBytes >= Self.outputLimit
                || stopwatch.elapsed >= Self.share
        }
        try connection.flush(now: now)
        connection.hasMoreCalls = connection.hasOutput && connection.hasMoreCalls
        var continues = true
        while continues, !connection.hasOutput {
            while connection.wantsCall, !connection.hasMoreCalls, let call = try connection.nextCall(now: now)
            {
                try handle(call, of: connection, now: now)
                connection.hasMoreCalls = isEnough()
            }
            let wasBusy = !connection.wantsCall
            try fill(connection, now: now)
            bytes += connection.outputBytes
            // A stream that has just ended makes way for the call behind it.
            continues =
                connection.hasMoreEvents || wasBusy && connection.wantsCall && !connection.hasMoreCalls
            try connection.flush(now: now)
        }
        connection.isGreedy = isEnough()
        if connection.isFinished { close(connection) }
    }

    private func handle(_ call: Call, of connection: ClientConnection, now: BootInstant) throws {
        let answer: Handlers.Answer
        do {
            answer = try handlers.handle(call, peer: connection.peer, now: now) {
                [weak self, weak connection] result, now in
                if let self, let connection { complete(connection, result, now: now) }
            }
        } catch let error as ControlError {
            answer = .reply(Reply.encode(error))
        } catch let failure as CommandFailure {
            answer = .reply(Reply.encode(ControlError(failure)))
        }
        begin(answer, of: connection, oneway: call.oneway)
    }

    private func begin(_ answer: Handlers.Answer, of connection: ClientConnection, oneway: Bool) {
        switch answer {
        case .reply(let bytes): if !oneway { connection.send(bytes) }
        case .later(let token, let encode): connection.activity = .awaiting(token, encode)
        case .pages(let pages):
            if !oneway { connection.activity = .history(pages) }
        case .geofences(let request):
            if !oneway { connection.activity = .geofences(request, after: nil) }
        case .subscription(let subscription):
            if !oneway { connection.activity = .subscribed(subscription) }
        }
    }

    /// Prepares more output of a stream.
    private func fill(_ connection: ClientConnection, now: BootInstant) throws {
        switch connection.activity {
        case .idle, .awaiting: return
        case .history(let pages):
            guard !connection.hasOutput else { return }
            let (bytes, isLast) = pages.next()
            connection.send(bytes)
            if isLast { connection.activity = .idle }
        case .geofences(let request, let id):
            guard !connection.hasOutput else { return }
            do {
                let answer = try handlers.geofences(after: id, request, now: now)
                connection.listing = request
                begin(answer, of: connection, oneway: false)
            } catch let failure as CommandFailure {
                connection.activity = .idle
                connection.send(Reply.encode(ControlError(failure)))
            }
        case .subscribed(var subscription):
            var bytes: [UInt8] = []
            while !connection.hasOutput, bytes.count < Self.outputLimit, let event = subscription.next() {
                bytes += try Reply.encode(Wire.Subscribe.self, .init(event: event), continues: true)
            }
            connection.send(bytes)
            connection.activity = .subscribed(subscription)
        }
    }

    /// The command that it has been waiting for is completed.
    private func complete(
        _ connection: ClientConnection, _ result: Result<Completion, CommandFailure>, now: BootInstant
    ) {
        if case .success(.geofences) = result {
            pages.append((connection, result))
        } else {
            answer(connection, result, now: now)
        }
    }

    /// Encodes pages of geofences for a share of the turn, and of those that take longer, one.
    func encodePages(now: BootInstant) {
        let stopwatch = Stopwatch()
        while !pages.isEmpty {
            let (connection, result) = pages.removeFirst()
            let isWanted = isOpen(connection) && !connection.isAwaitingSilently
            answer(connection, result, now: now)
            if isWanted, stopwatch.elapsed >= Self.share { return }
        }
    }

    /// After a page of geofences comes the next, once this one has been sent.
    private func answer(
        _ connection: ClientConnection, _ result: Result<Completion, CommandFailure>, now: BootInstant
    ) {
        guard isOpen(connection), case .awaiting(_, let encode) = connection.activity else { return }
        connection.activity = .idle
        if let request = connection.listing, case .success(.geofences(let page, isLast: false)) = result {
            connection.activity = .geofences(request, after: page.last?.fence.id)
        }
        connection.listing = nil
        do {
            switch (result, encode) {
            case (_, nil): break
            case (.success(let completion), let encode?): connection.send(try encode(completion))
            case (.failure(let failure), .some): connection.send(Reply.encode(ControlError(failure)))
            }
        } catch {
            Log.error(.control, "an answer could not be written: \(error)")
            return close(connection)
        }
        push(connection, now: now)
    }

    /// Hands an event to every subscriber.
    func publish(_ event: Wire.Event, now: BootInstant) {
        for connection in connections {
            guard case .subscribed(var subscription) = connection.activity else { continue }
            subscription.add(event)
            connection.activity = .subscribed(subscription)
            push(connection, now: now)
        }
        noteListeners()
    }

    /// Notes how many events were dropped: each subscriber concerned learns of it with its next event.
    func miss(_ count: Int) {
        guard count > 0 else { return }
        for connection in connections {
            guard case .subscribed(var subscription) = connection.activity else { continue }
            subscription.miss(count)
            connection.activity = .subscribed(subscription)
        }
    }

    private func push(_ connection: ClientConnection, now: BootInstant) {
        guard isOpen(connection) else { return }
        do {
            try proceed(connection, now: now)
        } catch {
            close(connection)
        }
        bound(Self.outputTotal, now: now, \.heldBytes)
    }
}
