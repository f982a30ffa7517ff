import DaemonConfiguration
import Testing

@testable import Doctor

@Suite("the unit for the first start")
struct FirstBootTests {
    @Test("address, code and options, and no specifier of systemd's")
    func unit() throws {
        let text = FirstBoot.unit(
            try ServerAddress("https://a.example/50%25"), code: "ABCDE-12345",
            arguments: ["--commands", "all"])
        let lines = text.split(separator: "\n")
        #expect(
            lines.contains("ExecStart=/usr/bin/beekonctl enroll --commands all 'https://a.example/50%%25' -"))
        #expect(lines.contains("StandardInputText=ABCDE-12345"))
        #expect(lines.contains("ConditionPathExists=!/etc/beekond/beekond.d/50-server.toml"))
    }

    @Test("a further destination has a file of its own")
    func destination() throws {
        let lines = FirstBoot.unit(try ServerAddress("https://a.example"), code: "A", destination: "fleet")
            .split(separator: "\n")
        #expect(
            lines.contains(
                "ExecStart=/usr/bin/beekonctl enroll --destination fleet 'https://a.example' -"))
        #expect(lines.contains("ConditionPathExists=!/etc/beekond/beekond.d/50-server-fleet.toml"))
    }
}
