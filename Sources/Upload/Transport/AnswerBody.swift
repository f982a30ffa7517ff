/// Why a complete 2xx is not believed. The names are those of the failure in the status.
package enum Doubt: String, Equatable, Sendable {
    /// A page answers in place of the backend: a captive portal, a single-page app or a maintenance page.
    case page
    /// An acknowledgement was demanded, and the body does not acknowledge this batch.
    case noAck = "no_ack"
}

/// Decides from the first bytes of an answer whether it is a page. Pure; the bytes may arrive in any pieces.
///
/// The content type decides nothing: PHP labels everything `text/html`. It is used only when the body is compressed
/// without having been asked for, and cannot be read.
package struct AnswerBody: Sendable {
    private enum State { case leading, matching, decided }

    /// After white space, in upper or lower case; a space stands for any white space.
    private static let beginnings = ["<!doctype html", "<html"].map { Array($0.utf8) }

    /// Whether it begins like a page.
    package private(set) var isPage = false
    /// Whether what has not been read yet may make it one.
    package var mayBePage: Bool { isPage || state != .decided }
    private var state = State.leading
    /// Of the byte order mark.
    private var markBytes = 0
    /// The beginning of the body, in lower case, with one space for each white space. No longer than needed to
    /// compare.
    private var start: [UInt8] = []

    /// Nothing has arrived yet.
    package init() {}

    /// Processes the next bytes. Costs nothing once it is decided.
    package mutating func take(_ bytes: some Sequence<UInt8>) {
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

/// Decides whether a 2xx answer is believed.
struct Belief {
    /// The `batch_id` that the body must contain; nil: none is demanded.
    var acknowledging: String?

    /// - Parameters:
    ///   - isCut: the body exceeds 64 KiB, and the rest is not read.
    ///   - text: the body, if an acknowledgement is demanded; empty when it is cut.
    func doubt(_ head: AnswerHead, _ body: AnswerBody, isCut: Bool, text: [UInt8]) -> Doubt? {
        if body.isPage || isCut && body.mayBePage || head.isCoded && head.isHTML { return .page }
        guard let acknowledging else { return nil }
        guard !head.isCoded, case .string(let id)? = JSONReader.read(text)?[member: "batch_id"],
            // Some backends write ids in upper case.
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
