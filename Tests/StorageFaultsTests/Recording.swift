import CRecordingVFS

/// What reached the file system, in order.
final class Recording {
    enum Event {
        case open(String, isNew: Bool)
        case write(String, offset: Int, bytes: UnsafeRawBufferPointer)
        case truncate(String, size: Int)
        case sync(String, withDirectory: Bool)
        case syncFailed(String)
        case delete(String, withDirectory: Bool)
        case mark(Int)
    }

    private let handle: OpaquePointer

    /// Records the databases in `directory` that are opened from now on.
    init?(directory: String) {
        guard recording_vfs_install() == 0, let handle = recording_begin(directory) else { return nil }
        self.handle = handle
    }

    deinit { recording_free(handle) }

    func mark(_ number: Int) {
        recording_set_mark(handle, Int64(number))
    }

    /// The `number`-th sync of the file from now on fails; 0: none does.
    func failSync(of name: String, number: Int) {
        recording_fail_sync(handle, name, Int32(number))
    }

    /// The bytes in them live as long as this object.
    func events() -> [Event] {
        (0..<recording_count(handle)).map { index in
            let event = recording_event_at(handle, index)
            let name = String(cString: event.name)
            return switch event.kind {
            case recording_open: .open(name, isNew: event.value != 0)
            case recording_write:
                .write(
                    name, offset: Int(event.offset),
                    bytes: UnsafeRawBufferPointer(start: event.bytes, count: event.count))
            case recording_truncate: .truncate(name, size: Int(event.offset))
            case recording_sync: .sync(name, withDirectory: event.value != 0)
            case recording_sync_failed: .syncFailed(name)
            case recording_delete: .delete(name, withDirectory: event.value != 0)
            default: .mark(Int(event.value))
            }
        }
    }
}
