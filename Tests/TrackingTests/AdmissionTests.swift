import Support
import Testing

@testable import Tracking

/// So many fixes one second apart, moving north at this speed and with this accuracy.
private struct Stretch {
    var count: Int
    var speed: Double?
    /// Values that the fixes do not report.
    var drift: Double?
    var step = 1.0
    var accuracy: Double? = 5
    /// Seconds without a fix before it; negative when time runs backwards.
    var pause = 0.0
}

private func stretch(
    _ count: Int, at speed: Double?, drift: Double? = nil, step: Double = 1, accuracy: Double? = 5,
    after pause: Double = 0
) -> Stretch {
    Stretch(count: count, speed: speed, drift: drift, step: step, accuracy: accuracy, pause: pause)
}

/// The admitted fixes: their indices, from 0, and triggers.
private struct Journey {
    var admission: Admission
    var admitted: [String] = []
    var motions: [MotionState] = []
    var paused = 0
    private var time = 0.0
    private var north = 0.0

    init(_ whileStationary: Admission.WhileStationary = .nothing, _ motion: Motion.Thresholds = .init()) {
        admission = Admission(
            thresholds: Admission.Thresholds(
                gate: Gate.Thresholds(interval: 30, distance: 100), motion: motion,
                whileStationary: whileStationary))
    }

    mutating func go(_ stretches: Stretch...) {
        for stretch in stretches {
            time += stretch.pause
            for _ in 0..<stretch.count {
                north += (stretch.drift ?? stretch.speed ?? 0) * stretch.step
                var fix = fix(at: time, north: north, speed: stretch.speed)
                fix.accuracy = stretch.accuracy
                time += stretch.step
                let observed = admission.observe(fix)
                switch admission.decide(observed) {
                case .admit(let trigger): admitted.append("\(motions.count) \(trigger)")
                case .drop(.paused): paused += 1
                case .drop: break
                }
                motions.append(observed.motion)
            }
        }
    }
}

private let parked = stretch(121, at: 0)

@Test("standing for the whole span is stationary, and the mean position is the parking spot")
func motionParks() {
    var journey = Journey()
    journey.go(stretch(2, at: 10), parked, stretch(3600, at: 0.2, drift: 0))
    // The second fix moves, and the two minutes of standing begin with the third.
    #expect(journey.admitted == ["0 interval", "122 motion"])
    #expect(Array(journey.motions[...1]) == [.unknown, .moving])
    #expect(journey.motions[121] == .moving && journey.motions[122] == .stationary)
    #expect(journey.paused == 3600)
}

@Test(
    "what keeps it from being stationary",
    arguments: [
        ("standing", [stretch(121, at: 0)], true),
        ("a fix less than the span", [stretch(120, at: 0)], false),
        ("no speeds reported", [stretch(121, at: nil)], true),
        ("6 of 121 too fast", [stretch(60, at: 0), stretch(6, at: 1, drift: 0), stretch(55, at: 0)], true),
        ("7 of 121 too fast", [stretch(60, at: 0), stretch(7, at: 1, drift: 0), stretch(54, at: 0)], false),
        (
            "one at driving speed", [stretch(60, at: 0), stretch(1, at: 3, drift: 0), stretch(60, at: 0)],
            false
        ),
        ("drifting out of the radius", [stretch(121, at: 0.5)], false),
        ("drifting within the accuracy", [stretch(121, at: 0.5, accuracy: 20)], true),
        ("unknown accuracy is 15 m", [stretch(121, at: 0.5, accuracy: nil)], true),
        ("a gap restarts it", [stretch(60, at: 0), stretch(61, at: 0, after: 31)], false),
        ("a short gap does not", [stretch(60, at: 0), stretch(61, at: 0, after: 28)], true),
        ("a gap is long for this receiver", [stretch(12, at: 0, step: 40)], true),
        (
            "time that runs backwards restarts it", [stretch(60, at: 0), stretch(61, at: 0, after: -10)],
            false
        ),
    ] as [(String, [Stretch], Bool)])
private func stationaryRule(name: String, stretches: [Stretch], expected: Bool) {
    var journey = Journey()
    journey.go(stretch(2, at: 10))
    for stretch in stretches { journey.go(stretch) }
    #expect((journey.admission.motion == .stationary) == expected, "\(name)")
}

@Test(
    "what counts as setting off",
    arguments: [
        ("driving off: the second fix", stretch(5, at: 3), 1),
        ("driving off at 10 Hz: a second later", stretch(15, at: 5, step: 0.1), 10),
        ("too slow to be driving, out of the radius", stretch(60, at: 1.5), 7),
        ("speed alone, not fast enough", stretch(60, at: 2.9, drift: 0), nil),
        ("out of the radius, and the speed says that it stands", stretch(40, at: 0.9, drift: 1), nil),
        ("creeping, until it is far away", stretch(60, at: 0.9, drift: 1), 51),
        ("towed", stretch(10, at: 0, drift: 15), 4),
        ("no speeds: for half a minute", stretch(60, at: nil, drift: 1.2), 38),
        ("no speeds and a wandering position", stretch(600, at: nil, drift: 0), nil),
    ] as [(String, Stretch, Int?)])
private func movingRule(name: String, stretch: Stretch, expected: Int?) {
    var journey = Journey()
    journey.go(parked)
    let before = journey.motions.count
    #expect(journey.admission.motion == .stationary)
    journey.go(stretch)
    let set = journey.motions[before...].firstIndex(of: .moving).map { $0 - before }
    #expect(set == expected, "\(name)")
    // It is admitted regardless of the gate.
    if let expected { #expect(journey.admitted.contains("\(before + expected) motion"), "\(name)") }
}

@Test("from unknown, a walk counts as movement, but admits nothing by itself")
func motionFromUnknown() {
    var journey = Journey()
    journey.go(stretch(5, at: 1))
    #expect(journey.motions == [.unknown, .moving, .moving, .moving, .moving])
    #expect(journey.admitted == ["0 interval"])
    var slow = Journey()
    slow.go(stretch(5, at: 0.9))
    #expect(slow.motions.allSatisfy { $0 == .unknown })
}

@Test(
    "from unknown, without speeds, a vehicle that goes on from where it was moves",
    arguments: [
        ("a street", [stretch(60, at: nil, drift: 9)], 10),
        ("a walk", [stretch(90, at: nil, drift: 1.2)], 40),
        ("wandering", [stretch(119, at: nil, drift: 0)], nil),
        (
            "the first position was far off",
            [stretch(3, at: nil, drift: 0), stretch(1, at: nil, drift: 400), stretch(60, at: nil, drift: 0)],
            nil
        ),
        ("speeds that say that it stands", [stretch(60, at: 0.4, drift: 2)], nil),
    ] as [(String, [Stretch], Int?)])
private func motionFromUnknownWithoutSpeeds(name: String, stretches: [Stretch], expected: Int?) {
    var journey = Journey()
    for stretch in stretches { journey.go(stretch) }
    #expect(journey.motions.firstIndex(of: .moving) == expected, "\(name)")
    #expect(!journey.admitted.contains { $0.hasSuffix("motion") }, "\(name)")
}

@Test("check-ins happen at the first fix that is due, also after silence or in a new run of instants")
func checkIns() {
    var journey = Journey(.checkIns(every: 900))
    journey.go(parked, stretch(900, at: 0))
    #expect(journey.admitted == ["0 interval", "120 motion", "1020 checkIn"])
    journey.go(stretch(2, at: 0, after: 5000))
    journey.admission.beginRun()
    journey.go(stretch(2, at: 0, after: -100_000))
    #expect(journey.admitted.suffix(2) == ["1021 checkIn", "1023 checkIn"])
}

@Test("keep_tracking leaves a parked vehicle to the gate")
func keepTracking() {
    var journey = Journey(.gate)
    journey.admission.thresholds.gate.distance = 0
    journey.go(parked, stretch(60, at: 0))
    #expect(
        journey.admitted == [0, 30, 60, 90].map { "\($0) interval" } + [
            "120 motion", "150 interval", "180 interval",
        ])
}

@Test("a crossing is admitted while parked, motion takes precedence, and either resets the gate")
func triggersHaveRanks() {
    var journey = Journey(.checkIns(every: 1))
    journey.go(parked)
    var admission = journey.admission
    let crossing = admission.observe(fix(at: 500, speed: 0))
    #expect(admission.decide(crossing, crosses: true) == .admit(.geofence))
    #expect(crossing.isParked)
    _ = admission.observe(fix(at: 501, north: 500, speed: 20))
    let setOff = admission.observe(fix(at: 502, north: 520, speed: 20))
    #expect(admission.decide(setOff, crosses: true) == .admit(.motion))
    #expect(!setOff.isParked)
    let next = admission.observe(fix(at: 531, north: 1000, speed: 20))
    #expect(admission.decide(next) == .drop(.tooSoon))
}

@Test(
    "after the longest silence one is admitted, while driving, parked, after a restart and in a new run of instants"
)
func longestSilence() {
    var journey = Journey()
    journey.admission.thresholds.gate = Gate.Thresholds(interval: 1e9, distance: 1e9)
    journey.admission.thresholds.longestSilence = 86_400
    journey.go(stretch(1, at: 10), stretch(1, at: 10, after: 86_398), stretch(2, at: 10))
    #expect(journey.admitted == ["0 interval", "2 checkIn"])
    // Parked, where nothing is admitted, and after a restart.
    let last = Gate.Reference(time: fix(at: 0).time, coordinate: place(north: 0), bearing: nil)
    let memory = Admission.Memory(motion: .stationary, spot: place(north: 0))
    var parked = Admission(thresholds: journey.admission.thresholds, last: last, memory: memory)
    func decide(_ time: Double) -> Gate.Verdict {
        parked.decide(parked.observe(fix(at: time, north: 0, speed: 0)))
    }
    #expect(decide(86_399) == .drop(.paused))
    #expect(decide(86_400) == .admit(.checkIn) && decide(172_799) == .drop(.paused))
    #expect(decide(172_800) == .admit(.checkIn))
    // With a time that was far ahead nothing can be compared.
    parked.beginRun()
    #expect(decide(100) == .admit(.checkIn) && decide(101) == .drop(.paused))
    parked.thresholds.longestSilence = nil
    #expect(decide(1e6) == .drop(.paused))
}

@Test("the odometer leaves out jitter between two stationary fixes")
func odometer() {
    var journey = Journey(.gate)
    journey.admission.thresholds.gate = Gate.Thresholds(interval: 10, distance: 0)
    journey.go(stretch(31, at: 10), parked, stretch(600, at: 0, drift: 0.01))
    let driven = journey.admission.odometer
    #expect(abs(driven - 300) < 0.5)
    // The stored fixes are the second, which departs, and the one 10 s later.
    journey.go(stretch(12, at: 10))
    #expect(abs(journey.admission.odometer - driven - 120) < 1)
}

@Test("after a restart it is still parked, and departs as before")
func motionSurvives() {
    var journey = Journey()
    journey.go(parked, stretch(60, at: 0))
    let memory = journey.admission.memory
    #expect(memory.motion == .stationary && memory.checkInFrom == fix(at: 120).time)
    journey.admission = Admission(
        thresholds: journey.admission.thresholds,
        last: Gate.Reference(time: fix(at: 120).time, coordinate: place(north: 0), bearing: nil),
        memory: memory)
    journey.go(stretch(600, at: 0.1, drift: 0), stretch(3, at: 5))
    #expect(journey.admitted.suffix(1) == ["782 motion"])
}

@Test("quality is informational")
func quality() {
    var check = QualityCheck()
    let limits = QualityLimits()
    func judge(_ time: Double, _ north: Double, _ accuracy: Double?) -> Quality? {
        var fix = fix(at: time, north: north)
        fix.accuracy = accuracy
        return check.judge(fix, limits)
    }
    #expect(judge(0, 0, 100) == nil)
    #expect(judge(1, 0, 100.1) == .lowAccuracy)
    // 100 m/s plus both accuracies.
    #expect(judge(2, 301, 101) == .lowAccuracy)
    #expect(judge(3, 0, 99) == .implausibleSpeed)
    #expect(judge(4, 213, nil) == nil)
    #expect(judge(5, 0, 90) == .implausibleSpeed)
    // Without elapsed time the speed is unknown.
    #expect(judge(5, 9000, 5) == nil)
    #expect(judge(4, 0, 5) == nil)
}

@Test("detecting a year of standing takes bounded memory")
func windowIsBounded() {
    var window = MotionWindow()
    let year = 31_536_000.0
    let thresholds = Motion.Thresholds(radius: 5, duration: year)
    var standing: [Int] = []
    for hour in 0...8800 {
        // Three fixes an hour are representative.
        for part in 0..<3 {
            window.append(fix(at: Double(hour) * 3600 + Double(part), speed: 0), duration: year)
        }
        if window.standingPosition(thresholds) != nil { standing.append(hour) }
    }
    #expect(window.count <= MotionWindow.places + 1)
    #expect(standing.first == 8760)
}

@Test(
    "speeds tell an activity",
    arguments: [
        ([(5, 1.4)], .unknown), ([(15, 0.1)], .stationary), ([(15, 1.4)], .walking), ([(15, 3)], .running),
        ([(15, 6)], .cycling), ([(15, 20)], .automotive),
        // A traffic light of 25 s does not make it stationary; a minute of standing does.
        ([(60, 20), (25, 0)], .automotive), ([(60, 20), (60, 0)], .stationary),
        // Within 15 % of a limit the activity is kept.
        ([(60, 1.8), (60, 2.4)], .walking), ([(60, 1.8), (60, 2.6)], .running),
        ([(60, 3), (60, 2)], .running), ([(60, 3), (60, 1.8)], .walking),
    ] as [([(Int, Double)], Activity)])
func activityRule(profile: [(Int, Double)], expected: Activity) {
    var guess = ActivityGuess()
    var time = 0.0
    var found: Activity?
    for (count, speed) in profile {
        for _ in 0..<count {
            found = guess.observe(fix(at: time, speed: speed))
            time += 1
        }
    }
    #expect(found == expected)
    #expect(guess.observe(fix(at: time)) == nil)
}
