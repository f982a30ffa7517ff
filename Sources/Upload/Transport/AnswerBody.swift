/// Decides from the first bytes of an answer whether it is a page. Pure; the bytes may arrive in any pieces.
///
/// The content type decides nothing here: PHP labels everything `text/html`. `Answer` uses it only for a body that cannot
/// be read.
struct AnswerBody: Sendable {
    private enum State { case leading, matching, decided }

    /// After white space, in upper or lower case; a space stands for any white space.
    private static let beginnings = ["<!doctype html", "<html"].map { Array($0.utf8) }

    /// Whether it begins like a page.
    private(set) var isPage = false
    /// Whether what has not been read yet may make it one.
    var mayBePage: Bool { isPage || state != .decided }
    private var state = State.leading
    /// Bytes of the byte order mark so far.
    private var markBytes = 0
    /// The beginning of the body, in lower case, with one space for each white space. No longer than needed to
    /// compare.
    private var start: [UInt8] = []

    /// The next bytes. Costs nothing once the matter is decided.
    mutating func append(_ bytes: some Sequence<UInt8>) {
        guard state != .decided else { return }
        for byte in bytes {
            append(byte)
            if state == .decided { return }
        }
    }

    private mutating func append(_ byte: UInt8) {
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
