// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// New tokens for [sync.auth], persisted, encrypted, before the answer, and tried at once. At least one
    /// of the two; without access_token the next upload refreshes first; without refresh_token it cannot be
    /// refreshed. expires_at in Unix seconds; absent: unknown. Needs admin rights, like DeleteLocations,
    /// PurgeRejected, Resend, Rebatch and the Configure keys that control where data goes.
    package enum SeedAuth: ControlMethod {
        package static let name = "org.beekond.Tracker.SeedAuth"

        package struct Parameters: ControlParameters {
            package var accessToken: String?
            package var refreshToken: String?
            package var expiresAt: Int?
            package var destination: String?

            package init(
                accessToken: String? = nil, refreshToken: String? = nil, expiresAt: Int? = nil,
                destination: String? = nil
            ) {
                self.accessToken = accessToken
                self.refreshToken = refreshToken
                self.expiresAt = expiresAt
                self.destination = destination
            }

            private enum CodingKeys: String, CodingKey {
                case accessToken = "access_token"
                case refreshToken = "refresh_token"
                case expiresAt = "expires_at"
                case destination
            }

            package static let names = ["access_token", "refresh_token", "expires_at", "destination"]
        }
    }
}
