// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Keys as in the configuration file, dotted: tracking.interval_seconds. Stored, and applied at once. All
    /// or nothing. Kept over restarts, above all files and what the server has set. InvalidConfiguration
    /// names the first key at fault. Numbers that are clamped in files are clamped here; GetConfig tells what
    /// holds. Secrets and paths of files are refused: they belong in a file, new tokens into SeedAuth. All of
    /// gpsd, store and log, and all of sync and of each destination but interval_seconds, batch_size and
    /// sync_threshold need admin rights. While the files hold secrets (header values, refresh payload and
    /// headers, tokens, client key, username, password, params), only root may send them elsewhere than the
    /// files do, with url, auth.refresh_url, proxy or allow_insecure_http of sync or of a destination:
    /// otherwise PermissionDenied, with a reason. Such a setting that root has not made is not used once the
    /// files hold secrets. destination.NAME.KEY is for a table that the files have, and follows the rules of
    /// sync.KEY. Names that SetExtras has changed stay as SetExtras wants them. Answered once nothing is
    /// begun by earlier settings any more: a request under way is broken off where they would make it another
    /// one, and its batch goes out again. adopting, of this and of the other methods that change settings:
    /// destinations that have not come to that within 2 s, because the disk holds them up, or a token
    /// exchange, which is not broken off. The settings are stored and in force all the same. Absent when
    /// there are none.
    package enum Configure: ControlMethod {
        package static let name = "org.beekond.Tracker.Configure"

        package struct Parameters: ControlParameters {
            package var settings: [String: JSONValue]

            package init(settings: [String: JSONValue]) {
                self.settings = settings
            }

            package static let names = ["settings"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var adopting: [String]?

            package init(adopting: [String]? = nil) {
                self.adopting = adopting
            }
        }
    }
}
