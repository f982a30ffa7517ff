package import ControlProtocol

/// The state of the token as text.
package enum AuthText {
    /// The state, followed by what is wrong and what to do about it.
    package static func lines(
        _ destination: Wire.Destination, clock: LocalClock, palette: Palette
    ) -> [String] {
        let auth = destination.auth
        guard auth.state != "none" else {
            let table = DestinationNames(destination.name).table
            return [
                "no token: [\(table).auth] in the configuration says how to get one, if the backend wants it"
            ]
        }
        var lines = summary(auth, clock: clock, palette: palette)
        if let refresh = auth.lastRefresh { lines.append("refreshed \(clock.age(refresh))") }
        let advice = UploadAdvice(sync: destination.sync, auth: auth, of: destination.name).token
        if let advice { lines += Text.wrap(advice, width: 76) }
        return lines
    }

    /// The state, and when a token that is not dead expires.
    static func summary(_ auth: Wire.AuthStatus, clock: LocalClock, palette: Palette) -> [String] {
        let text = StatusText.auth(auth, palette: palette)
        // A token that the server refuses is not good until then.
        guard auth.state != "dead", let expiry = auth.expiresAt else { return [text] }
        let verb = (clock.secondsSince(expiry) ?? 0) > 0 ? "expired" : "expires"
        return [text, "\(verb) \(clock.age(expiry)), \(clock.local(expiry))"]
    }
}
