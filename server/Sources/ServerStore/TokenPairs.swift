package import Base

/// What becomes of the pairs of tokens of a device when one of them is shown. A pair is offered until one of its tokens is
/// shown, then it is the current one, and the only one; what was offered beside it, and what it replaces, ends.
///
/// Each function is within a transaction. `run` runs a statement with `$1`, `$2` … in the order of their first appearance.
package enum TokenPairs {
    /// Milliseconds for which an access token is good after its pair has ended: for requests under way.
    package static let grace: Int64 = 60_000
    /// Hashes of ended refresh tokens of a device that are kept, so that one that is shown again is known.
    static let remembered: Int64 = 100

    package typealias Runner<Failure: Error> = (String, [Cell]) throws(Failure) -> [[Cell]]

    /// A token has been shown, which names the pair that has arrived at the device.
    package static func arrive<Failure>(
        _ hash: [UInt8], of device: Int64, now: Timestamp, run: Runner<Failure>
    ) throws(Failure) {
        // The lock on the row: who changes tokens of this device waits for it.
        _ = try run("UPDATE devices SET revoked = revoked WHERE id = $1", [.integer(device)])
        let rows = try run(
            "SELECT pair FROM tokens WHERE device = $1 AND hash = $2 AND used IS NULL AND ended IS NULL",
            [.integer(device), .bytes(hash)])
        guard let pair = rows.first?.first?.integer else { return }
        try end(.allBut(pair), of: device, now: now, run: run)
        _ = try run(
            "UPDATE tokens SET used = $1 WHERE device = $2 AND pair = $3 AND used IS NULL",
            [.integer(now.milliseconds), .integer(device), .integer(pair)])
    }

    /// Some of the pairs of a device.
    package enum Choice {
        case allBut(Int64)
        case only(Int64)

        fileprivate var condition: String {
            switch self {
            case .allBut: "<>"
            case .only: "="
            }
        }

        fileprivate var pair: Int64 {
            switch self {
            case .allBut(let pair), .only(let pair): pair
            }
        }
    }

    /// Ends pairs. Access tokens stay for a while, refresh tokens are remembered only.
    package static func end<Failure>(
        _ choice: Choice, of device: Int64, now: Timestamp, run: Runner<Failure>
    ) throws(Failure) {
        let key: [Cell] = [.integer(device), .integer(choice.pair)]
        _ = try run(
            """
            INSERT INTO ended_tokens(device, hash, ended)
            SELECT device, hash, $1 FROM tokens WHERE device = $2 AND pair \(choice.condition) $3 AND kind = 2
            ON CONFLICT DO NOTHING
            """, [.integer(now.milliseconds)] + key)
        _ = try run(
            "DELETE FROM tokens WHERE device = $1 AND pair \(choice.condition) $2 AND kind = 2", key)
        _ = try run(
            """
            UPDATE tokens SET ended = $1
            WHERE device = $2 AND pair \(choice.condition) $3 AND ended IS NULL
            """, [.integer(now.milliseconds)] + key)
        _ = try run(
            "DELETE FROM tokens WHERE device = $1 AND kind = 1 AND (ended <= $2 OR expires <= $3)",
            [.integer(device), .integer(now.milliseconds - grace), .integer(now.milliseconds)])
        _ = try run(
            """
            DELETE FROM ended_tokens WHERE device = $1 AND ended < (SELECT min(ended) FROM (
                SELECT ended FROM ended_tokens WHERE device = $1 ORDER BY ended DESC LIMIT $2) AS newest)
            """, [.integer(device), .integer(remembered)])
    }
}
