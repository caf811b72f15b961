package train

import "testing"

func TestTimesOfSteps(t *testing.T) {
	got := timesOf([]Event{{Seconds: 3, Images: 10, Waited: 1}, {Seconds: 1, Images: 10},
		{Seconds: 2, Images: 10, Waited: 0.5}})
	if want := (StepTimes{3, 2000, 1000, 3000, 5, 0.25, 30 / 4.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if timesOf(nil) != (StepTimes{}) {
		t.Error("no steps have times")
	}
}
