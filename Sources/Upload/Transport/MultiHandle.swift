internal import Base
internal import CCurl
internal import Linux

/// A multi handle of libcurl that never waits: it says what it waits for (`curl_multi_socket_action`), to be waited for by whoever
/// has other things to wait for as well. Its connections are closed with it.
///
/// Confined to one thread.
final class MultiHandle {
    private let handle: UnsafeMutableRawPointer
    /// What libcurl waits for on each socket: `CURL_POLL_IN`, `CURL_POLL_OUT`, or both.
    private var awaited: [(socket: Int32, events: Int32)] = []

    /// - Returns: nil when there is no memory.
    init?() {
        guard let handle = curl_multi_init() else { return nil }
        self.handle = handle
        _ = ccurl_set_awaits(handle, noteAwaited, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        curl_multi_cleanup(handle)
    }

    /// - Returns: whether libcurl has taken it.
    func add(_ easy: UnsafeMutableRawPointer) -> Bool {
        curl_multi_add_handle(handle, easy) == CURLM_OK
    }

    func remove(_ easy: UnsafeMutableRawPointer) {
        curl_multi_remove_handle(handle, easy)
    }

    /// Does what can be done at once.
    ///
    /// - Returns: whether anything is still under way.
    func advance() -> Bool {
        var running: Int32 = 0
        // Which of them are ready libcurl finds out itself, as it does in `curl_multi_perform`.
        for (socket, _) in awaited {
            guard curl_multi_socket_action(handle, socket, 0, &running) == CURLM_OK else { return false }
        }
        return curl_multi_socket_action(handle, CURL_SOCKET_BAD, 0, &running) == CURLM_OK && running > 0
    }

    /// What has ended; nil: nothing has.
    func takeResult() -> CURLcode? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(handle, &left) {
            if message.pointee.msg == CURLMSG_DONE { return ccurl_message_result(message) }
        }
        return nil
    }

    /// The rest until `advance` can do more.
    func rest(now: BootInstant) -> Rest {
        var rest = Rest()
        for (socket, events) in awaited {
            rest.add(socket, read: events & CURL_POLL_IN != 0, write: events & CURL_POLL_OUT != 0)
        }
        var milliseconds = -1
        if curl_multi_timeout(handle, &milliseconds) == CURLM_OK, milliseconds >= 0 {
            rest.end(by: now.advanced(bySeconds: Double(milliseconds) / 1000))
        }
        return rest
    }

    fileprivate func note(_ socket: Int32, _ events: Int32) {
        awaited.removeAll { $0.socket == socket }
        if events != CURL_POLL_REMOVE { awaited.append((socket, events)) }
    }
}

private let noteAwaited: ccurl_awaits = { _, socket, events, context, _ in
    if let context { Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue().note(socket, events) }
    return 0
}
