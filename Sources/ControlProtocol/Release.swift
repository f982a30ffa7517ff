/// What this is a release of.
public enum Release {
    /// The version of beekond, beekonctl and the upload's `sdk_version`.
    public static let version = "0.1.0"
}
