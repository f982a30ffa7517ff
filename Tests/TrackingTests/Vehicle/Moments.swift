import Base

@testable import Tracking

private func id(_ digit: Character) -> BootID {
    let text = String(repeating: digit, count: 8) + "-1111-2222-3333-" + String(repeating: digit, count: 12)
    guard let id = BootID(text) else { preconditionFailure("no boot id: \(text)") }
    return id
}

let (thisBoot, earlierBoot) = (id("b"), id("a"))

/// `seconds` after the boot.
func booted(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: 0).advanced(bySeconds: seconds)
}

/// `second` seconds after `start`.
func moment(_ second: Double) -> Timestamp { Timestamp(milliseconds: start).advanced(bySeconds: second) }

/// At 1000 s of this boot it is 1000 s after `start`.
let anchor = EventTime.Anchor(boot: thisBoot, now: booted(1000), time: moment(1000))

func edge(_ isOn: Bool, _ seconds: Double) -> LevelDebounce.Edge {
    LevelDebounce.Edge(isOn: isOn, at: booted(seconds))
}
