"""What the scripts share: random texts, and a clock that stands still."""

import datetime

WORDS = "amber basil cedar delta ember fjord glade heron iris jolt kelp lumen maple nectar onyx pearl quartz river".split()


class FixedTime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 15, tzinfo=tz)


class Drawn:
    """Texts that a generator of random numbers draws, `self.random`."""

    MOST_WORDS = 8
    FORMS = ("{}",)

    def words(self):
        return " ".join(self.random.choices(WORDS, k=self.random.randint(2, self.MOST_WORDS)))

    def prose(self):
        """Words, or words in one of the forms."""
        if self.random.random() < 0.6:
            return self.words()
        form = self.random.choice(self.FORMS)
        return form.format(*(self.words() for _ in range(form.count("{}"))))
