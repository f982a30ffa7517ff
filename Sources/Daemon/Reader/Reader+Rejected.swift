internal import Storage
internal import Upload

extension Reader {
    /// Dead letters are to be re-queued, or deleted.
    func begin(_ act: RejectedWork.Act, _ token: Token) {
        guard rejectedWork == nil else {
            let busy = Failure(
                kind: .busy(seconds: 1), reason: "dead letters are being moved already")
            return hub.complete(token, .failure(busy))
        }
        if act == .requeue, let failure = deletionFirst { return hub.complete(token, .failure(failure)) }
        do {
            rejectedWork = (try hub.store.begin(act), act, token)
        } catch {
            hub.complete(token, .failure(Failure(reason: error.message)))
        }
    }

    /// One step between two fixes, so that ten thousand of them keep none waiting.
    func proceedWithRejected() {
        guard let (started, act, token) = rejectedWork, deletion == nil || act == .purge else { return }
        var work = started
        do {
            try hub.store.proceed(with: &work)
        } catch {
            rejectedWork = nil
            return hub.complete(token, .failure(Failure(reason: error.message)))
        }
        rejectedWork = work.isFinished ? nil : (work, act, token)
        guard work.isFinished else { return }
        // Who puts them back believes that the server has been mended: one attempt at once, in every state.
        // The same goes for the room that the upload waits for.
        let hasRoom = act == .purge && hub.board.uploaderSnapshot.failure == .deadLettersFull
        if act == .requeue || hasRoom, work.done > 0 { hub.post(toUploader: .trigger(.command)) }
        hub.complete(token, .success(.count(work.done)))
    }

    /// Why no row can return to the queue now.
    var deletionFirst: Failure? {
        guard deletion != nil || missing.contains(.deletion) else { return nil }
        return Failure(kind: .busy(seconds: 1), reason: "a deletion has to be completed first")
    }
}
