package import ServerStore

/// Numbers that are never used again: what was made with one that is gone is not the next one's.
package enum Numbers {
    /// The raw values are stored.
    package enum Kind: String {
        case claim, user, group, link, fence
    }

    /// The next one, for a row that is made in the same transaction.
    package static func next(_ kind: Kind, in session: any Session) throws(StoreError) -> Int64 {
        let rows = try session.run(
            "UPDATE numbers SET next = next + 1 WHERE kind = $1 RETURNING next - 1", .text(kind.rawValue))
        guard let number = rows.first?.first?.integer else {
            throw StoreError(.failed, operation: "take a number", message: "there is none for a \(kind)")
        }
        return number
    }
}
