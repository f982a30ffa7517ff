internal import Base

/// A session of tracking, or one for the geofence events between two of them.
struct Session: Equatable {
    var id: UUIDv7
    var startedAt: Timestamp
}

extension Session {
    init(_ stored: (id: UUIDv7, startedAt: Timestamp)) {
        self.init(id: stored.id, startedAt: stored.startedAt)
    }
}
