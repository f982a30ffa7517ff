internal import CSystemd
internal import Glibc

/// Asks NetworkManager, over the system bus, whether it calls its primary connection metered, and hears of changes. Nothing
/// here waits for the bus or for anybody on it. NetworkManager is not started for this.
///
/// Confined to one thread.
package final class NetworkManagerLink {
    /// What has come of a question.
    package enum News: Equatable, Sendable {
        /// NetworkManager calls the connection metered or not; it may not know, or guess.
        case metered(Metered)
        /// NetworkManager does not run, or does not know the question.
        case absent
        /// NetworkManager runs, and has not answered in time.
        case silent
    }

    /// NMMetered, as NetworkManager numbers it. One that is not known here counts as `unknown`.
    package enum Metered: UInt32, Sendable, CaseIterable {
        case unknown = 0
        case yes = 1
        case no = 2
        case guessYes = 3
        case guessNo = 4

        package init(number: UInt32) {
            self = Metered(rawValue: number) ?? .unknown
        }
    }

    private let bus: OpaquePointer
    private var news: [News] = []
    private var isAsking = false
    /// The answer has changed since NetworkManager was asked.
    private var isOutdated = false

    private static let name = "org.freedesktop.NetworkManager"
    private static let path = "/org/freedesktop/NetworkManager"
    private static let properties = "org.freedesktop.DBus.Properties"
    /// Microseconds until a question counts as not answered.
    private static let patience: UInt64 = 10_000_000
    /// Messages taken at once, so that a flood of them keeps nobody waiting.
    private static let messagesAtOnce = 64

    /// Begins to connect, and to ask.
    ///
    /// - Returns: nil when there is no system bus.
    package init?() {
        var opened: OpaquePointer?
        guard sd_bus_open_system(&opened) >= 0, let opened else { return nil }
        bus = opened
        let signals = [
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                + "member='NameOwnerChanged',arg0='\(Self.name)'",
            "type='signal',sender='\(Self.name)',path='\(Self.path)',interface='\(Self.properties)',"
                + "member='PropertiesChanged',arg0='\(Self.name)'",
        ]
        let me = Unmanaged.passUnretained(self).toOpaque()
        let changed: sd_bus_message_handler_t = { _, context, _ in NetworkManagerLink.changed(context) }
        for signal in signals where sd_bus_add_match_async(bus, nil, signal, changed, nil, me) < 0 {
            return nil
        }
        guard ask() else { return nil }
    }

    deinit {
        // Without a flush, which would wait.
        sd_bus_close_unref(bus)
    }

    // MARK: The loop

    /// For poll(2); negative when the connection has ended.
    package var raw: Int32 { sd_bus_get_fd(bus) }

    /// Whether there is something to be written.
    package var wantsWrite: Bool {
        let events = sd_bus_get_events(bus)
        return events > 0 && events & Int32(POLLOUT) != 0
    }

    /// Seconds until `process` is to be called, whatever poll(2) says; nil: not at all.
    package var timeout: Double? {
        var deadline: UInt64 = 0
        guard sd_bus_get_timeout(bus, &deadline) >= 0, deadline < .max else { return nil }
        var time = timespec()
        // Cannot fail. sd-bus counts by this clock, in microseconds.
        _ = clock_gettime(CLOCK_MONOTONIC, &time)
        return max(Double(deadline) / 1e6 - Double(time.tv_sec) - Double(time.tv_nsec) / 1e9, 0)
    }

    /// Does what can be done at once.
    ///
    /// - Returns: what there is to know, in order; nil when the connection has ended.
    package func process() -> [News]? {
        for _ in 0..<Self.messagesAtOnce {
            let code = sd_bus_process(bus, nil)
            if code < 0 { return nil }
            if code == 0 { break }
        }
        defer { news = [] }
        return news
    }

    /// Asks, unless a question is under way: then it is asked once more after the answer.
    ///
    /// - Returns: false when there is no memory for it, or no connection.
    @discardableResult
    package func ask() -> Bool {
        guard !isAsking else {
            isOutdated = true
            return true
        }
        var created: OpaquePointer?
        guard
            sd_bus_message_new_method_call(bus, &created, Self.name, Self.path, Self.properties, "Get") >= 0,
            let question = created
        else { return false }
        defer { sd_bus_message_unref(question) }
        let me = Unmanaged.passUnretained(self).toOpaque()
        let answered: sd_bus_message_handler_t = { message, context, _ in
            NetworkManagerLink.answered(message, context)
        }
        guard sd_bus_message_set_auto_start(question, 0) >= 0, Self.append(Self.name, to: question),
            Self.append("Metered", to: question),
            sd_bus_call_async(bus, nil, question, answered, me, Self.patience) >= 0
        else { return false }
        isAsking = true
        return true
    }

    private static func append(_ text: String, to message: OpaquePointer) -> Bool {
        text.withCString { sd_bus_message_append_basic(message, CChar(bitPattern: UInt8(ascii: "s")), $0) }
            >= 0
    }

    // MARK: What libsystemd calls, within `process`

    private static func link(_ context: UnsafeMutableRawPointer?) -> NetworkManagerLink? {
        context.map { Unmanaged<NetworkManagerLink>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func changed(_ context: UnsafeMutableRawPointer?) -> Int32 {
        link(context)?.ask()
        return 0
    }

    private static func answered(_ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
        guard let link = link(context) else { return 0 }
        link.isAsking = false
        link.news.append(message.map { read($0) } ?? .absent)
        if link.isOutdated {
            link.isOutdated = false
            link.ask()
        }
        return 0
    }

    /// A variant that holds a number; an answer of another shape is as good as none.
    private static func read(_ message: OpaquePointer) -> News {
        if sd_bus_message_is_method_error(message, nil) > 0 {
            // Made up by libsystemd when the time is over.
            let isLate = sd_bus_message_is_method_error(message, "org.freedesktop.DBus.Error.NoReply") > 0
            return isLate ? .silent : .absent
        }
        var number: UInt32 = 0
        let (variant, word) = (CChar(bitPattern: UInt8(ascii: "v")), CChar(bitPattern: UInt8(ascii: "u")))
        guard sd_bus_message_enter_container(message, variant, "u") > 0,
            sd_bus_message_read_basic(message, word, &number) > 0
        else { return .absent }
        return .metered(Metered(number: number))
    }
}
