/// The release that this source code belongs to.
package enum Release {
    /// The version of beekond and beekonctl, and the `sdk_version` of uploads.
    package static let version = "0.2.0"
}
