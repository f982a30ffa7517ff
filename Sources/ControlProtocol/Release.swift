/// The release that this source code belongs to.
public enum Release {
    /// The version of beekond and beekonctl, and the `sdk_version` of uploads.
    public static let version = "0.1.0"
}
