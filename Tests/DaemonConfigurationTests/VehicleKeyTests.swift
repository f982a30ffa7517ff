import Testing

@testable import DaemonConfiguration

@Suite("[vehicle]") struct VehicleKeyTests {
    @Test("every setting arrives") func all() throws {
        let text = """
            [vehicle]
            ignition = "gpio"
            supply = "rpi-poe:psu_1"
            gpio_chip = "/dev/gpiochip0"
            gpio_line = 17
            gpio_active_low = true
            ignition_debounce_seconds = 0.5
            on_ignition = "track"
            ignition_off_delay_seconds = 0
            trip_gap_seconds = 600
            events = ["ignition", "odometer"]
            """
        var expected = Settings.Vehicle()
        expected.ignition = .gpio
        expected.supply = "rpi-poe:psu_1"
        expected.gpio = .init(chip: "/dev/gpiochip0", line: 17, activeLow: true)
        expected.ignitionDebounceSeconds = 0.5
        expected.onIgnition = .track
        expected.ignitionOffDelaySeconds = 0
        expected.tripGapSeconds = 600
        expected.events = [.ignition, .odometer]
        #expect(try Workshop().load(text).settings.vehicle == expected)
    }

    static let broken: [Broken] = [
        Broken("[vehicle]\nignition = \"gpoi\"\n", line: 2, "vehicle.ignition", "did you mean \"gpio\"?"),
        Broken("[vehicle]\nsupply = \"../AC\"\n", line: 2, "vehicle.supply", "/sys/class/power_supply"),
        Broken("[vehicle]\nsupply = \"..\"\n", line: 2, "vehicle.supply", "/sys/class/power_supply"),
        Broken("[vehicle]\nsupply = \"A C\"\n", line: 2, "vehicle.supply", "/sys/class/power_supply"),
        Broken(
            "[vehicle]\nignition = \"gpio\"\ngpio_line = 1\ngpio_chip = \"gpiochip0\"\n", line: 4,
            "vehicle.gpio_chip", "below /dev"),
        Broken("[vehicle]\ngpio_chip = \"/dev/../etc/x\"\n", line: 2, "vehicle.gpio_chip", "below /dev"),
        Broken("[vehicle]\ngpio_line = 65536\n", line: 2, "vehicle.gpio_line", "from -1 to 65535"),
        Broken(
            "[vehicle]\nignition_debounce_seconds = 3601\n", line: 2, "vehicle.ignition_debounce_seconds",
            "from 0 to 3600"),
        Broken("[vehicle]\ntrip_gap_seconds = 0\n", line: 2, "vehicle.trip_gap_seconds", "from 1 to"),
        Broken(
            "[vehicle]\nevents = [\"power\", \"ignitoin\"]\n", line: 2, "vehicle.events",
            "did you mean \"ignition\"?"),
        Broken("[vehicle]\nevents = \"power\"\n", line: 2, "vehicle.events", "a list of texts"),
        Broken("[vehicle]\nignitoin = \"gpio\"\n", line: 2, "vehicle.ignitoin", "vehicle.ignition?"),
        Broken(
            "[vehicle]\nignition = \"gpio\"\ngpio_line = 1\n", line: 2, "vehicle.ignition",
            "needs vehicle.gpio_chip"),
        Broken(
            "[vehicle]\ngpio_chip = \"/dev/gpiochip0\"\nignition = \"gpio\"\n", line: 3, "vehicle.ignition",
            "needs vehicle.gpio_line"),
        Broken(
            "[vehicle]\nignition = \"power_supply\"\n", line: 2, "vehicle.ignition", "needs vehicle.supply"),
        Broken(
            "[vehicle]\ngpio_chip = \"/dev/gpiochip0\"\n", line: 2, "vehicle.gpio_chip",
            "a setting of vehicle.ignition = \"gpio\", and that is \"none\""),
        Broken(
            "[vehicle]\nignition = \"manual\"\ngpio_line = 0\n", line: 3, "vehicle.gpio_line",
            "and that is \"manual\""),
        Broken("[vehicle]\ngpio_active_low = true\n", line: 2, "vehicle.gpio_active_low", "remove it"),
        Broken(
            "[vehicle]\non_ignition = \"track\"\n", line: 2, "vehicle.on_ignition", "needs an ignition"),
        Broken(
            "[tracking]\nschedule = [\"mon 07:00-08:00\"]\n[vehicle]\nignition = \"manual\"\non_ignition = \"track\"\n",
            line: 5, "vehicle.on_ignition", "tracking.schedule"),
    ]

    @Test("a mistake is named with its line", arguments: broken) func mistakes(_ broken: Broken) throws {
        let found = try Workshop().problems(broken.text)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.line == broken.line && found.first?.key == broken.key)
        #expect(found.first?.message.contains(broken.message) == true, "\(found)")
    }

    @Test("a schedule set while running gives way to on_ignition = \"track\" of the files") func schedule()
        throws
    {
        let workshop = try Workshop()
        try workshop.write("[vehicle]\nignition = \"manual\"\non_ignition = \"track\"\n")
        let layers = try Loader.layers(file: workshop.file, isDefaultPath: false, places: workshop.places)
        let schedule = ["tracking.schedule": SettingValue.list(["mon 07:00-08:00"])]
        let result = layers.loaded(with: schedule)
        #expect(result.leftOut["tracking.schedule"]?.contains("vehicle.on_ignition") == true)
        #expect(result.loaded.settings.tracking.schedule.isEmpty)
        #expect(result.loaded.settings.vehicle.onIgnition == .track)
        #expect(throws: Layers.Refusal.self) {
            try layers.decide(
                setting: ["tracking.schedule": .value(.list(["mon 07:00-08:00"]))], over: [:])
        }
    }

    @Test("thresholds may be tuned; sources, who starts tracking and what is sent may not") func rights() {
        let tunable = Key.all.filter { $0.name.hasPrefix("vehicle.") && !$0.needsAdmin }.map(\.name)
        #expect(
            tunable == [
                "vehicle.ignition_debounce_seconds", "vehicle.ignition_off_delay_seconds",
                "vehicle.trip_gap_seconds",
            ])
    }
}
