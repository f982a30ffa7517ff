/// Why a complete 2xx is not believed. The names are those of the failure in the status.
public enum Doubt: String, Equatable, Sendable {
    /// A page has come in the backend's place: of a captive portal, of a single-page app, of maintenance.
    case page
    /// An acknowledgement was demanded, and the body is none of this batch.
    case noAck = "no_ack"
}

/// Decides by the first bytes of an answer whether it is a page. Pure; the bytes may come in any pieces.
///
/// The type that an answer has decides nothing: PHP calls everything `text/html`. Only where the body is compressed, though
/// nobody asked for that, and nothing of it can be read, does the type stand for it.
public struct AnswerBody: Sendable {
    private enum State { case leading, matching, decided }

    /// After white space, in any case; a space stands for any white space.
    private static let beginnings = ["<!doctype html", "<html"].map { Array($0.utf8) }

    /// It begins like a page.
    public private(set) var isPage = false
    private var state = State.leading
    /// Of the byte order mark.
    private var markBytes = 0
    /// What may begin a page, in lower case, with one space for each white space. No longer than a beginning.
    private var start: [UInt8] = []

    /// Nothing has come yet.
    public init() {}

    /// Takes the next bytes. Costs nothing once it is decided.
    public mutating func take(_ bytes: some Sequence<UInt8>) {
        guard state != .decided else { return }
        for byte in bytes {
            take(byte)
            if state == .decided { return }
        }
    }

    private mutating func take(_ byte: UInt8) {
        let isSpace = byte == 0x20 || (0x09...0x0D).contains(byte)
        if state == .leading {
            if isSpace && markBytes % 3 == 0 { return }
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            if markBytes < mark.count, byte == mark[markBytes] {
                markBytes += 1
                return
            }
            state = .matching
        }
        if isSpace && start.last == 0x20 { return }
        start.append(isSpace ? 0x20 : byte >= 0x41 && byte <= 0x5A ? byte + 32 : byte)
        isPage = Self.beginnings.contains(start)
        if isPage || !Self.beginnings.contains(where: { $0.starts(with: start) }) { state = .decided }
    }
}

/// Whether an answer that says 2xx is believed.
struct Belief {
    /// The `batch_id` that the body must have; nil: none is demanded.
    var acknowledging: String?

    /// - Parameter text: the body, when an acknowledgement is demanded; empty when it has more than 64 KiB.
    func doubt(_ head: AnswerHead, _ body: AnswerBody, text: [UInt8]) -> Doubt? {
        if body.isPage || head.isCoded && head.isHTML { return .page }
        guard let acknowledging else { return nil }
        guard !head.isCoded, case .string(let id)? = JSONReader.read(text)?[member: "batch_id"],
            // Some backends write ids in capitals.
            id.lowercased() == acknowledging.lowercased()
        else { return .noAck }
        return nil
    }
}

extension JSON {
    fileprivate subscript(member name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}
