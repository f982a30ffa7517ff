import Base
import Glibc
import Linux
import Support
import Testing
import Tracking

@testable import Sensors

@Suite("a GPIO line") struct GPIOSensorTests {
    private let place = GPIOSensor.Place(chip: "/dev/gpiochip0", line: 17, isActiveLow: false)

    private func sensor(_ line: FakeLine, debounce: Double = 2) -> GPIOSensor {
        GPIOSensor(place, debounce: debounce) { (_, _) throws(SystemError) in try line.open() }
    }

    private func told(_ events: [SensorEvent]) -> [LevelDebounce.Edge] {
        events.compactMap { if case .level(let edge) = $0 { edge } else { nil } }
    }

    @Test("the first level counts at once, each later one once it has held, from when it changed")
    func changes() {
        let line = FakeLine(true)
        var sensor = sensor(line)
        #expect(sensor.deadline == nil && sensor.descriptor == -1)
        #expect(
            sensor.run(now: booted(10), monotonic: 10_000_000_000) == [
                .level(.init(isOn: true, at: booted(10)))
            ])
        #expect(sensor.descriptor >= 0)
        line.set(false, at: 20)
        line.deliver()
        // The reader was busy for half a second.
        #expect(sensor.run(now: booted(20.5), monotonic: 20_500_000_000).isEmpty)
        #expect(sensor.deadline == booted(22))
        #expect(
            sensor.run(now: booted(22), monotonic: 22_000_000_000) == [
                .level(.init(isOn: false, at: booted(20)))
            ])
        #expect(sensor.run(now: booted(23), monotonic: 23_000_000_000).isEmpty)
    }

    @Test(
        "1,000 edges with bounce: what is told is true, and the last level is right",
        arguments: [false, true])
    func bounce(isHeldUp: Bool) {
        var random = SeededGenerator(seed: testSeed(19))
        for _ in 0..<20 {
            let line = FakeLine()
            var sensor = sensor(line)
            var edges: [LevelDebounce.Edge] = told(sensor.run(now: booted(0), monotonic: 0))
            /// When the level changed, and to what; the first stands for always.
            var truth: [(at: Double, isOn: Bool)] = [(0, false)]
            var (now, lookAt) = (0.0, 0.0)
            var isOn = false
            for _ in 0..<1000 {
                isOn.toggle()
                now += Double.random(in: 0.05...6, using: &random)
                // Some contacts rattle on and on.
                for _ in 0..<Int.random(in: 0...(isHeldUp ? 6 : 2), using: &random) {
                    line.set(isOn, at: now)
                    truth.append((now, isOn))
                    now += Double.random(in: 0.0005...0.009, using: &random)
                    line.set(!isOn, at: now)
                    truth.append((now, !isOn))
                    now += Double.random(in: 0.0005...0.009, using: &random)
                }
                line.set(isOn, at: now)
                truth.append((now, isOn))
                guard now >= lookAt else { continue }
                line.deliver()
                edges += told(sensor.run(now: booted(now), monotonic: booted(now).nanoseconds))
                lookAt = now + Double.random(in: 0...(isHeldUp ? 3000 : 5), using: &random)
            }
            for second in [now + 0.1, now + 3] {
                line.deliver()
                edges += told(sensor.run(now: booted(second), monotonic: booted(second).nanoseconds))
            }
            #expect(edges.last?.isOn == line.level)
            for edge in edges.dropFirst() {
                let at = Double(edge.at.nanoseconds) / 1e9
                // It had this level from then on for as long as it must hold.
                let state = truth.last { $0.at <= at + 1e-6 }
                let next = truth.first { $0.at > at + 1e-6 && $0.isOn != edge.isOn }
                #expect(state?.isOn == edge.isOn)
                #expect((next?.at ?? .infinity) - at >= 2 - 1e-6)
            }
            #expect(zip(edges, edges.dropFirst()).allSatisfy { $0.isOn != $1.isOn })
            if !isHeldUp { #expect(edges.count > 100) }
        }
    }

    @Test(
        "what cannot be read is told once, with what to do, and tried again",
        arguments: [
            (ENOENT, "vehicle.gpio_chip"), (EACCES, "DeviceAllow=/dev/gpiochip0"),
            (ERANGE, "vehicle.gpio_line"),
            (EBUSY, "gpioinfo"), (ENOTTY, "no GPIO chip"), (EIO, "interrupts"),
        ])
    func missing(code: Int32, advice: String) {
        let line = FakeLine()
        line.failure = code
        var sensor = sensor(line)
        let events = sensor.run(now: booted(0), monotonic: 0)
        guard case .lost(let text)? = events.first, events.count == 1 else {
            Issue.record("\(events)")
            return
        }
        #expect(text.contains(advice), "\(text)")
        #expect(sensor.deadline == booted(1) && sensor.descriptor == -1)
        #expect(sensor.run(now: booted(0.5), monotonic: 0).isEmpty)
        #expect(sensor.run(now: booted(1), monotonic: 0).isEmpty && sensor.deadline == booted(3))
        // However long it takes, it is looked for once a minute.
        var now = booted(3)
        for _ in 0..<10 {
            #expect(sensor.run(now: now, monotonic: 0).isEmpty)
            now = sensor.deadline ?? now
        }
        line.failure = nil
        #expect(sensor.run(now: now, monotonic: 0) == [.level(.init(isOn: false, at: now))])
    }

    @Test("a chip that is unplugged is noticed, whether or not the kernel says so") func unplugged() {
        let line = FakeLine(true)
        var sensor = sensor(line)
        _ = sensor.run(now: booted(0), monotonic: 0)
        line.failure = ENODEV
        let events = sensor.run(now: booted(60), monotonic: 60_000_000_000)
        guard case .lost(let text)? = events.first else {
            Issue.record("\(events)")
            return
        }
        #expect(text.contains("restart beekond"))
        // It comes back in another state: that is the first level again.
        line.failure = nil
        line.set(false, at: 61)
        #expect(
            sensor.run(now: booted(61), monotonic: 61_000_000_000)
                == [.level(.init(isOn: false, at: booted(61)))])
        #expect(line.opened == 2)
    }

    @Test("a driver that says nothing is found out within a minute") func silent() {
        let line = FakeLine(true)
        var sensor = sensor(line, debounce: 0)
        _ = sensor.run(now: booted(0), monotonic: 0)
        line.set(false, at: 1)
        #expect(sensor.run(now: booted(59), monotonic: 59_000_000_000).isEmpty)
        #expect(
            sensor.run(now: booted(60), monotonic: 60_000_000_000)
                == [.level(.init(isOn: false, at: booted(60)))])
    }
}
