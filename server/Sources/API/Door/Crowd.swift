internal import NIOCore
internal import Synchronization

/// The connections that have a place, of as many as there may be.
final class Crowd: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isDispersed = false
    }

    private let state = Mutex(State())
    private let count = Atomic(0)
    /// From so many on, those that bring nothing give way.
    private let crowded: Int

    /// - Parameter most: connections at once.
    init(most: Int) {
        crowded = max(1, most - most / 4)
    }

    var isCrowded: Bool { count.load(ordering: .relaxed) >= crowded }

    func enter(_ channel: any Channel) {
        count.wrappingAdd(1, ordering: .relaxed)
        let isDispersed = state.withLock { state in
            state.channels[ObjectIdentifier(channel)] = channel
            return state.isDispersed
        }
        if isDispersed { Self.dismiss(channel) }
    }

    func leave(_ channel: any Channel) {
        count.wrappingSubtract(1, ordering: .relaxed)
        state.withLock { $0.channels[ObjectIdentifier(channel)] = nil }
    }

    /// The server ends: each goes once it has its answer.
    func disperse() {
        let channels = state.withLock { state in
            state.isDispersed = true
            return Array(state.channels.values)
        }
        channels.forEach(Self.dismiss)
    }

    private static func dismiss(_ channel: any Channel) {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }
}
