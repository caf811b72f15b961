package cost

import (
	"testing"

	"hgld/train/input"
)

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

func TestALoaderBenchNamesWhatIsShort(t *testing.T) {
	r := LoaderResult{Batch: 64, Size: 224, Stored: 256, Device: "cuda:0", Decoder: "image/jpeg", Packs: true, Reads: 32,
		Rates: []input.Rates{{Workers: 1, All: 300, Read: 9000, Decode: 400, Crop: 1500, Waited: 0.034},
			{Workers: 2, All: 590, Read: 17000, Decode: 790, Crop: 2900}}, Upload: 20000}
	want := `training images of 224 pixels, resampled on cuda:0, decoded by image/jpeg
stored with a short side of at most 256 pixels

images per second, of the whole and of each part if there were no others:
workers       all      read    decode      crop  waiting for reads
      1       300      9000       400      1500  3 % of the time
      2       590     17000       790      2900  0 % of the time
reads ahead of the workers, at the same time: 32
upload to cuda:0: 20000

short: decode
`
	if got := r.Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	r.Upload = 500
	if got := r.Short(); got != "upload" {
		t.Errorf("short is %s, want the upload of 500 images a second", got)
	}
	r.Rates, r.Upload = []input.Rates{{Workers: 1, All: 80, Read: 100, Decode: 800, Crop: 900, Waited: 0.8}}, 0
	if got := r.Short(); got != "read" {
		t.Errorf("short is %s, want the disk", got)
	}
}
