import Base
import Testing

@testable import Fleet

@Suite("the agenda")
struct AgendaTests {
    @Test("tells the earliest, also after moments have changed, like a list that is sorted")
    func order() {
        var random = SystemRandomNumberGenerator()
        var agenda = Agenda(count: 200)
        var times = [Int64](repeating: .max, count: 200)
        for _ in 0..<5000 {
            let vehicle = Int.random(in: 0..<200, using: &random)
            times[vehicle] = Bool.random() ? Int64.random(in: 0..<1000, using: &random) : .max
            agenda.set(vehicle, BootInstant(nanoseconds: times[vehicle]))
            let least = times.min() ?? .max
            #expect(agenda.first?.time.nanoseconds == least)
            #expect(agenda.first?.vehicle == times.firstIndex(of: least))
        }
    }
}
