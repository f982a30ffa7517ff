import Tracking

@testable import Upload

extension Subject {
    /// The status and the header lines of an answer: what becomes of the batch.
    static let answer = Subject(name: "answer") { input in
        let status = input.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        var head = AnswerHead()
        var rest = input.dropFirst(2)
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            head.take(UnsafeRawBufferPointer(rebasing: rest[rest.startIndex..<end]))
            rest = rest[end...]
        }
        let time = Timestamp(milliseconds: 1_781_000_000_000)
        let wait = head.retryAfter.flatMap { RetryAfter.seconds($0, at: time) }
        switch Verdict(status: status, retryAfter: wait) {
        case .accepted: precondition((200...299).contains(status))
        case .rejected: precondition(status == 400 || status == 422)
        case .unauthorised: precondition(status == 401 || status == 403)
        case .transient(_, let seconds): precondition(seconds.map { (0...3600).contains($0) } ?? true)
        case .permanent: break
        }
    }

    /// `Retry-After`, at any time.
    static let retryAfter = Subject(name: "retry-after") { input in
        let milliseconds = input.prefix(6).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let text = String(decoding: input.dropFirst(6), as: UTF8.self)
        let seconds = RetryAfter.seconds(text, at: Timestamp(milliseconds: milliseconds))
        precondition(seconds.map { (0...RetryAfter.limit).contains($0) } ?? true)
    }
}
