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
        do {
            rejectedWork = (try hub.store.begin(act), act, token)
        } catch {
            hub.complete(token, .failure(Failure(reason: error.message)))
        }
    }

    /// One step between two fixes, so that ten thousand of them keep none waiting.
    func proceedWithRejected() {
        guard let (started, act, token) = rejectedWork else { return }
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
        if act == .requeue, work.done > 0 { hub.post(toUploader: .trigger(.command)) }
        hub.complete(token, .success(.count(work.done)))
    }
}
