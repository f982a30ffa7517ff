/// The settings while they are put together: like ``Settings``, but with nothing optional in the way.
struct Draft {
    var gpsd = Settings.GPSD()
    var tracking = Settings.Tracking()
    var store = Settings.Store()
    var sync = Settings.Sync()
    var auth = Settings.Auth()
    var hasAuth = false
    var extras: [Settings.Field] = []

    var settings: Settings {
        var settings = Settings()
        settings.gpsd = gpsd
        settings.tracking = tracking
        settings.store = store
        settings.extras = Dictionary(extras.map { ($0.name, $0.value.text) }, uniquingKeysWith: { $1 })
        guard !sync.url.isEmpty else { return settings }
        var sync = sync
        sync.auth = hasAuth ? auth : nil
        settings.sync = sync
        return settings
    }
}
