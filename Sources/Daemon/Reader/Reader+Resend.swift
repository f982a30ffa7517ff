internal import Storage
internal import Upload

extension Reader {
    /// Kept rows are to be sent again.
    func begin(_ work: Resend, _ token: Token) {
        guard resend == nil else {
            let busy = Failure(
                kind: .busy(seconds: 1), reason: "rows are being put back into the queue already")
            return hub.complete(token, .failure(busy))
        }
        if let deletionFirst { return hub.complete(token, .failure(deletionFirst)) }
        resend = (work, token)
    }

    /// One step between two fixes.
    func proceedWithResend() {
        guard deletion == nil, let (started, token) = resend else { return }
        var work = started
        do {
            try hub.store.proceed(with: &work)
        } catch {
            resend = nil
            return hub.complete(token, .failure(Failure(reason: error.message)))
        }
        resend = work.isFinished ? nil : (work, token)
        guard work.isFinished else { return }
        if work.done > 0 {
            Log.notice(
                .rowsResent, "\(work.done) kept locations and events are pending again, under their ids",
                [(.count, "\(work.done)")])
            hub.post(toUploader: .trigger(.command))
        }
        hub.complete(token, .success(.count(work.done)))
    }
}
