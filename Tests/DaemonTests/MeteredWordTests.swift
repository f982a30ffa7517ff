import Support
import Testing

@testable import Daemon
@testable import Systemd

@Suite("what is believed of NetworkManager's word") struct MeteredWordTests {
    private var word = MeteredWord(now: instant(0))

    @Test(
        "every answer",
        arguments: [
            (0, false), (1, true), (2, false), (3, true), (4, false), (5, false), (4_294_967_295, false),
        ] as [(UInt32, Bool)])
    mutating func answers(number: UInt32, isMetered: Bool) {
        #expect(word.isMetered, "nobody has said no yet")
        word.hear(.metered(.init(number: number)), now: instant(1))
        #expect(word.isMetered == isMetered && word.deadline == nil)
    }

    @Test("where there is nobody, nobody is waited for")
    mutating func nobody() {
        word.hear(.absent, now: instant(5))
        #expect(!word.isMetered && word.deadline == nil)
    }

    @Test("the first answer is waited for ten seconds, and believed later, too")
    mutating func first() {
        #expect(word.deadline == instant(10))
        word.look(now: instant(9.9))
        #expect(word.isMetered)
        word.look(now: instant(10))
        #expect(!word.isMetered && word.deadline == nil)
        word.hear(.metered(.yes), now: instant(80))
        word.look(now: instant(90))
        #expect(word.isMetered)
    }

    @Test("an answer outlives its author for twenty seconds, not more, and not less for being looked at")
    mutating func restart() {
        word.hear(.metered(.yes), now: instant(0))
        word.lose(now: instant(100))
        word.hear(.absent, now: instant(110))
        #expect(word.isMetered && word.deadline == instant(120))
        word.look(now: instant(119.9))
        #expect(word.isMetered)
        word.look(now: instant(120))
        #expect(!word.isMetered && word.deadline == nil)
        word.hear(.metered(.guessYes), now: instant(130))
        word.lose(now: instant(140))
        word.hear(.metered(.yes), now: instant(141))
        word.look(now: instant(1000))
        #expect(word.isMetered && word.deadline == nil)
    }

    @Test("who is silent is asked again in a minute, and believed no more meanwhile")
    mutating func silence() {
        word.hear(.silent, now: instant(10))
        #expect(!word.isMetered && word.askAt == instant(70) && word.deadline == instant(70))
        word.asked()
        #expect(word.deadline == nil)
        word.hear(.metered(.yes), now: instant(71))
        word.hear(.silent, now: instant(90))
        #expect(word.isMetered && word.deadline == instant(110))
    }
}
