internal import CLinux
internal import Glibc

/// Bytes of a name that the kernel takes.
private let nameLimit = 15

/// Starts a named, detached thread that runs `body`. If someone waits for its end, `body` must notify them itself.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    final class Start {
        let name: String
        let body: @Sendable () -> Void
        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
    let start = Unmanaged.passRetained(Start(name, body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let code = pthread_create(
        &thread, &attributes,
        { argument in
            guard let argument else { return nil }
            let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
            clinux_set_thread_name(String(start.name.prefix(nameLimit)))
            start.body()
            return nil
        }, start.toOpaque())
    if code != 0 {
        start.release()
        throw SystemError("start thread " + name, code: code)
    }
}
