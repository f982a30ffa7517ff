import Simulation
import Testing

@Suite("the sentences")
struct NMEATests {
    @Test("a checksum from the literature")
    func checksum() {
        let body = "GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,"
        #expect(NMEA.sentence(body) == "$\(body)*47\r\n")
    }

    @Test("every sentence parses back to the observation", arguments: [NMEA.Talker.gp, .gn])
    func parsesBack(talker: NMEA.Talker) throws {
        var scenario = Drive.Scenario.test(rate: 5, noise: 3)
        scenario.talker = talker
        for epoch in epochs(scenario, count: 600) {
            #expect(epoch.sentences.allSatisfy { ParsedSentence($0) != nil })
            let fix = try #require(epoch.seen.fix)
            let rmc = try #require(sentences(epoch, "RMC").first)
            let gga = try #require(sentences(epoch, "GGA").first)
            let gsa = try #require(sentences(epoch, "GSA").first)
            #expect(rmc.fields[0].prefix(2) == (talker == .gn ? "GN" : "GP"))
            #expect(rmc.fields[2] == "A" && rmc.fields[9] == "150626" && rmc.fields[12] == "A")
            for (sentence, index) in [(rmc, 3), (gga, 2)] {
                let place = try (
                    #require(sentence.degrees(at: index)), #require(sentence.degrees(at: index + 2))
                )
                #expect(meters(place, (fix.latitude, fix.longitude)) < 0.03)
            }
            #expect(abs(try #require(Double(rmc.fields[7])) / 3600 * 1852 - fix.speed) < 0.001)
            #expect(rmc.fields[8].isEmpty == (fix.track == nil))
            #expect(
                gga.fields[6] == "1"
                    && Int(gga.fields[7]) == min(12, epoch.seen.satellites.filter(\.used).count))
            #expect(abs(try #require(Double(gga.fields[9])) - fix.altitude) < 0.006)
            #expect(Double(gga.fields[11]) == fix.geoidSeparation)
            #expect(gsa.fields[2] == "3" && gsa.fields.count == 18)
            #expect(gsa.fields[16] == gga.fields[8])
        }
    }

    @Test("10 Hz: a time every 100 ms, satellites once a second")
    func tenHertz() {
        let drive = epochs(.test(rate: 10), count: 25)
        let times = drive.map { sentences($0, "RMC")[0].fields[1] }
        #expect(times[0] == "120000.000" && times[1] == "120000.100" && times[24] == "120002.400")
        #expect(drive.map { sentences($0, "GSV").isEmpty ? 0 : 1 }.reduce(0, +) == 3)
        #expect(drive.allSatisfy { sentences($0, "GGA")[0].fields[1] == sentences($0, "RMC")[0].fields[1] })
    }

    @Test("three epochs a second are rounded down to milliseconds and never drift")
    func threeHertz() {
        let times = epochs(.test(rate: 3), count: 7).map { sentences($0, "RMC")[0].fields[1] }
        #expect(times[1...3] == ["120000.333", "120000.666", "120001.000"] && times[6] == "120002.000")
    }

    @Test("satellites in view come in groups of four, counted", arguments: 1...12 as ClosedRange<UInt64>)
    func groups(seed: UInt64) throws {
        let epoch = try #require(epochs(.test(seed: seed), count: 1).first)
        let total = epoch.seen.satellites.count
        let views = sentences(epoch, "GSV")
        #expect(views.count == (total + 3) / 4)
        for (index, view) in views.enumerated() {
            #expect(
                view.fields[1...3] == [
                    "\(views.count)", "\(index + 1)", total < 10 ? "0\(total)" : "\(total)",
                ])
            #expect(view.fields.count == 4 + 4 * min(4, total - index * 4))
        }
        #expect(Set(epoch.seen.satellites.map(\.number)).count == total)
    }

    @Test("lost sky: void, no position, no mode; time continues; then everything returns")
    func lostSky() throws {
        var scenario = Drive.Scenario.test()
        scenario.lostSky = [try #require(Drive.Window(from: 3, to: 6))]
        for (second, epoch) in epochs(scenario, count: 9).enumerated() {
            let rmc = sentences(epoch, "RMC")[0].fields
            let gga = sentences(epoch, "GGA")[0].fields
            let gsa = sentences(epoch, "GSA")[0].fields
            #expect(rmc[1] == "12000\(second).000")
            let lost = (3..<6).contains(second)
            #expect(rmc[2] == (lost ? "V" : "A"))
            #expect(gga[6] == (lost ? "0" : "1"))
            #expect(gsa[2] == (lost ? "1" : "3"))
            guard lost else { continue }
            #expect(rmc[3...8].allSatisfy(\.isEmpty) && rmc[9] == "150626")
            #expect(gga[2...5].allSatisfy(\.isEmpty) && gga[8].isEmpty && gga[9].isEmpty)
            #expect(gsa[3...].joined().isEmpty)
        }
    }

    @Test("fixes can be marked as simulated")
    func marked() {
        var scenario = Drive.Scenario.test()
        scenario.marked = true
        let epoch = epochs(scenario, count: 1)[0]
        #expect(sentences(epoch, "GGA")[0].fields[6] == "8")
        #expect(sentences(epoch, "RMC")[0].fields[12] == "S")
    }

    @Test("south and west, minutes that carry")
    func hemispheres() {
        var scenario = Drive.Scenario.test()
        scenario.origin = Position(latitude: -33.999_999_999, longitude: -0.5)
        scenario.parked = true
        let rmc = sentences(epochs(scenario, count: 1)[0], "RMC")[0].fields
        #expect(rmc[3...6] == ["3400.00000", "S", "00030.00000", "W"])
    }
}
