package backbone_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/internal/testing/usertime"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/optim"
)

// BenchmarkStep is a steady training step of a classifier with 1,000 classes:
// forward, cross-entropy, backward and Adam, on random pixels in memory. It
// reports images per second, the least user time of a step, which depends little on
// other work on the machine, and the peak memory of the process, so that a run of one
// case has its own.
func BenchmarkStep(b *testing.B) {
	for _, c := range []classification{
		{"resnet18", 64, 32, false}, {"resnet50", 64, 32, false}, {"resnet50", 64, 32, true},
		{"resnet18", 224, 32, false}, {"resnet50", 224, 16, false}, {"resnet50", 224, 16, true},
		{"deit-small", 224, 16, false},
	} {
		for _, threads := range []int{1, 2} {
			name := c.model
			if c.frozen {
				name += "-frozen"
			}
			b.Run(fmt.Sprintf("%s/%d/threads=%d", name, c.size, threads), func(b *testing.B) {
				_, step := c.train(b, cpu.New(threads))
				step()
				b.ReportAllocs()
				least := time.Duration(math.MaxInt64)
				for b.Loop() {
					began := usertime.Now()
					step()
					least = min(least, usertime.Now()-began)
				}
				if least > 0 {
					b.ReportMetric(least.Seconds(), "user-s")
				}
				b.ReportMetric(float64(c.batch)*float64(b.N)/b.Elapsed().Seconds(), "img/s")
				b.ReportMetric(peakMiB(), "MiB-peak")
			})
		}
	}
}

// classification is a training with batch images of size² pixels.
type classification struct {
	model       string
	size, batch int
	frozen      bool // BatchNorm by given statistics
}

// train takes the first step, and returns what is trained and what takes one step
// more.
func (c classification) train(tb testing.TB, dev device.Backend) (store *nn.Store, step func()) {
	spec, err := backbone.All.Get("backbone", c.model)
	must.Do(tb, err)
	const classes = 1000
	store = nn.NewStore()
	options := backbone.Options{Classes: classes, FreezeNorm: c.frozen}
	net, ok := spec.Build(store.Group("net"), options).(backbone.Classifier)
	if !ok {
		tb.Fatalf("%s has no classifier", c.model)
	}
	store.Build(dev, 1)
	r := rand.New(rand.NewPCG(1, 2))
	pixels := make([]float64, c.batch*3*c.size*c.size)
	for i := range pixels {
		pixels[i] = r.NormFloat64()
	}
	x := uploadImages(dev, pixels, c.batch, 3, c.size, c.size)
	target := device.New(dev, device.I32, c.batch)
	var labels []byte
	for range c.batch {
		labels = binary.LittleEndian.AppendUint32(labels, r.Uint32N(classes))
	}
	dev.Upload(target, labels)

	var groups []*optim.Group
	for _, g := range store.Groups {
		groups = append(groups, &optim.Group{Name: g.Name, Weights: g.Values, Grads: g.Grads, Rate: 1e-4, Eta: 1e-4})
	}
	adam := optim.New(dev, optim.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}, groups...)
	adam.Begin(dev)
	t := grad.NewTape(dev, device.NewArena(dev))
	y := t.Leaf(x, device.Array{})
	stages := net.Stages()
	if spec.Facts().Vector {
		stages = stages[:len(stages)-1] // the heads read the tokens
	}
	for _, s := range stages {
		x := y
		y = s.Layer(t, x)
		t.Done(x)
	}
	if !spec.Facts().Vector {
		y = nn.GlobalPool(t, y, device.AvgPool)
	}
	var total *grad.Var
	for _, z := range net.Logits(t, y) {
		loss := crossEntropy(t, z, target)
		if total != nil {
			loss = nn.Add(t, total, loss)
		}
		total = loss
	}
	t.Backward(total, device.Array{})
	t.Do(func(d device.Backend) { adam.Step(d, store.Guard) })
	must.Do(tb, dev.Sync())
	return store, func() {
		adam.Begin(dev)
		t.Replay()
		must.Do(tb, dev.Sync())
	}
}

// crossEntropy is the mean over the rows of z.
func crossEntropy(t *grad.Tape, z *grad.Var, target device.Array) *grad.Var {
	rows := z.Value.Rows()
	each, dz, loss := t.New(device.F32, rows), t.New(device.F32, z.Value.Shape()...), t.New(device.F32)
	t.Do(func(d device.Backend) {
		d.SoftmaxLoss(each.Value, dz.Value, z.Value, target, device.Softmax{Temperature: 1})
		d.Sums(loss.Value, each.Value, device.SumAll, 0)
	})
	t.Back(func(d device.Backend) {
		if g := t.Into(z); !g.Absent() {
			d.Axpby(g, 1/float32(rows), dz.Value, 0, device.Array{})
		}
	}, dz)
	return loss
}

// peakMiB is the most memory that the process has had, 0 where it cannot be told.
func peakMiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if fields := strings.Fields(after); len(fields) > 0 {
		kib, _ := strconv.ParseFloat(fields[0], 64)
		return kib / 1024
	}
	return 0
}
