/// Where the page's map takes its tiles from, as the operator says.
package struct TileSource: Equatable, Sendable {
    /// Template such as `https://tile.example.org/{z}/{x}/{y}.png`.
    package let url: String
    /// Whom the map has to name; empty: nobody.
    package let attribution: String
    /// What of the address goes into the page's Content-Security-Policy: scheme, host and port.
    let origin: String

    /// Why an address cannot be one.
    package struct Invalid: Error, Equatable {
        package let reason: String
    }

    /// Bytes of an address, and of an attribution.
    private static let longest = 1000
    private static let hostCharacters = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]")

    /// - Throws: when a browser could not fetch tiles from there, or it would say more to the browser than an address.
    package init(url: String, attribution: String = "") throws(Invalid) {
        guard url.utf8.count <= Self.longest, attribution.utf8.count <= Self.longest else {
            throw Invalid(reason: "it has more than \(Self.longest) bytes")
        }
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw Invalid(reason: "it begins with neither https:// nor http://")
        }
        guard ["{z}", "{x}", "{y}"].allSatisfy({ url.contains($0) }) else {
            throw Invalid(reason: "it lacks {z}, {x} or {y}")
        }
        let scheme = url.prefix { $0 != ":" } + "://"
        let host = url.dropFirst(scheme.count).prefix { $0 != "/" }
        // Leaflet's way of asking several hosts at once.
        let isSpread = host.hasPrefix("{s}.")
        let plain = isSpread ? host.dropFirst(4) : host
        guard !plain.isEmpty, plain.allSatisfy(Self.hostCharacters.contains) else {
            throw Invalid(reason: "its host has characters that no host has")
        }
        guard url.unicodeScalars.allSatisfy({ (0x21...0x7E).contains($0.value) }) else {
            throw Invalid(reason: "it has spaces, or characters that are not ASCII")
        }
        self.url = url
        self.attribution = attribution
        origin = scheme + (isSpread ? "*." : "") + plain
    }
}
