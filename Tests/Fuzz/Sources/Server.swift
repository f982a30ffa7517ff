import Base
import Tracking

@testable import Upload

extension Subject {
    /// Status and headers of a response: decides what happens to the batch.
    static let answer = Subject(name: "answer") { input in
        let status = input.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        var (head, body) = (AnswerHead(), AnswerBody())
        body.append(input)
        let text = Array(input.prefix(JSONReader.byteLimit))
        var rest = input.dropFirst(2)
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            head.read(UnsafeRawBufferPointer(rebasing: rest[rest.startIndex..<end]))
            rest = rest[end...]
        }
        let time = Timestamp(milliseconds: 1_781_000_000_000)
        let answer = Answer(
            status: status, head, body, isCut: text.count < input.count, text: text)
        _ = BeekonFormat.doubt(answer, acknowledging: "x")
        switch Format.beekon.judge(answer, acknowledging: nil, at: time).verdict {
        case .accepted: precondition((200...299).contains(status))
        case .rejected: precondition(status == 400 || status == 422)
        case .unauthorised: precondition(status == 401 || status == 403)
        case .transient(let seconds): precondition(seconds.map { (0...3600).contains($0) } ?? true)
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

    /// A token endpoint's response, parsed into a token and its expiry.
    static let token = Subject(name: "token") { input in
        let mapping = TokenMapping(accessToken: "data.0.t", expiresAt: "data.at", expiresIn: "in")
        for mapping in [TokenMapping(), mapping] {
            guard let answer = TokenAnswer(Array(input), mapping: mapping) else { continue }
            precondition(Tokens.isToken(answer.access) && answer.refresh.map { Tokens.isToken($0) } ?? true)
            switch answer.expiry {
            case .at(let moment): precondition((0...253_402_300_799).contains(moment))
            case .within(let seconds): precondition(seconds > 0 && seconds <= TokenAnswer.longest)
            case nil: break
            }
        }
    }

    /// The file that stores the tokens: nothing opens that was not sealed.
    static let envelope = Subject(name: "envelope") { input in
        guard let key = TokenKey(material: [UInt8](repeating: 7, count: 32)) else { return }
        let opened = try? TokenEnvelope.open(Array(input), with: [key])
        precondition(opened == nil)
    }
}
