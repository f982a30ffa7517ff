import ControlTool
import Testing

@testable import Doctor

@Suite("the unit for the first start")
struct FirstBootTests {
    private func request(
        _ url: String, destination: String? = nil, commands: String = "usual"
    ) throws -> Enrollment.Request {
        try Enrollment.Request(url: url, destination: destination, commands: commands)
    }

    @Test("address, code and options, and no specifier of systemd's")
    func unit() throws {
        let text = FirstBoot.unit(
            try request("https://a.example/50%25", commands: "all"), code: "ABCDE-12345")
        let lines = text.split(separator: "\n")
        #expect(
            lines.contains("ExecStart=/usr/bin/beekonctl enroll --commands all 'https://a.example/50%%25' -"))
        #expect(lines.contains("StandardInputText=ABCDE-12345"))
        #expect(lines.contains("ConditionPathExists=!/etc/beekond/beekond.d/50-server.toml"))
    }

    @Test("a further destination has a file of its own")
    func destination() throws {
        let lines = FirstBoot.unit(try request("https://a.example", destination: "fleet"), code: "A")
            .split(separator: "\n")
        #expect(
            lines.contains(
                "ExecStart=/usr/bin/beekonctl enroll --destination fleet 'https://a.example' -"))
        #expect(lines.contains("ConditionPathExists=!/etc/beekond/beekond.d/50-server-fleet.toml"))
    }

    @Test(
        "what cannot be asked for",
        arguments: [
            ("http://a.example", nil, "usual"), ("https://a.example", "main", "usual"),
            ("https://a.example", "../x", "usual"), ("https://a.example", nil, "some"),
        ] as [(String, String?, String)])
    func refused(url: String, destination: String?, commands: String) {
        #expect(throws: Failure.self) {
            try request(url, destination: destination, commands: commands)
        }
    }
}
