package cost

import "testing"

func TestABenchSaysItsTimesAndRates(t *testing.T) {
	r := BenchmarkResult{Backbone: "convnet", Loss: "happier", Batch: 4, Size: 32, Threads: 2,
		StepTimes: StepTimes{Steps: 3, Step: 2000, Fastest: 1000, Slowest: 3000, Images: 5, Waiting: 0.25, Arithmetic: 6.7}}
	want := "convnet with happier, batches of 4 images of 32 pixels, 2 threads\n" +
		"step          2000.0 ms     median of 3, from 1000.0 to 3000.0\n" +
		"training         5.0 img/s  waiting for images 25 % of the time\n" +
		"arithmetic       6.7 img/s  without waiting for images\n"
	if got := r.Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
