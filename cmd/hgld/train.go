package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/train"
	"hgld/train/device/cpu"
)

// trainSettings is the section "train" of hgld.yaml.
type trainSettings struct {
	Images       retrievalData `yaml:",inline"`
	Out          string        `yaml:"out" path:"out" usage:"run directory; the same command again continues the run in it"`
	train.Config `yaml:",inline"`
}

const (
	trainExamples = "  hgld train run                          train on shards/ into runs/default\n" +
		"  hgld train run --limit 20               a trial of 20 steps\n" +
		"  hgld train run -o loss.name=happier -o optim.lr=1e-3 --out runs/happier"
	trainRunExamples = trainExamples + "\n" +
		"  hgld train run --hold-out 0.33          train on two thirds of the classes, evaluate on the others\n" +
		"  hgld train run --query test --gallery train\n" +
		"                                          evaluate by the test images' ranking of the training images"
)

func trainStage() stage {
	return newStage("train", "train run", trainSettings{Images: defaultData(), Out: "runs/default", Config: train.Default()},
		func(s *trainSettings) (in, out []string) { return []string{s.Images.Data}, []string{s.Out} }, runTrain)
}

func trainCommand() *cli.Command {
	return group("train", "stage 5: shards -> a retrieval model", trainExamples,
		trainStage().subcommand("run", "train, or continue the run in the run directory", trainRunExamples))
}

func runTrain(j *job, s *trainSettings) (err error) {
	data, err := s.Images.open()
	if err != nil {
		return err
	}
	defer data.close()
	origin := map[string]string{"tool": version, "data": s.Images.String()}
	r, err := train.New(s.Config, data.Data, train.Options{
		Backend: cpu.New(s.Config.Run.Threads), Dir: s.Out, Origin: origin, Limit: j.limit,
	})
	if err != nil {
		return trainError(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := writeRunSettings(s); err != nil {
		return err
	}
	total := r.Total()
	where := "from the start"
	if r.Resumed() != "" {
		where = fmt.Sprintf("continuing after step %d", r.Step())
	}
	j.say("training %s with %s on %d images of %s: %d parameters, %d steps, %s",
		s.Model.Backbone.Name, s.Loss.Name, data.Train.Len(), s.Images.Data, r.Parameters(), total, where)
	events, err := openEvents(filepath.Join(s.Out, eventsFile), r.Step())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, events.close()) }()
	return trainError(followRun(j, r, s, total, events))
}

// followRun prints and keeps the events of a run.
func followRun(j *job, r *train.Run, s *trainSettings, total int, events *eventLog) error {
	p := j.progress("train", total)
	defer p.end()
	var speed meter
	for e, err := range r.Events(j.ctx) {
		if err != nil {
			return err
		}
		if err := events.add(e); err != nil {
			return err
		}
		switch e.Kind {
		case train.Stepped:
			p.set(e.Step, speed.note(e))
		case train.Skipped:
			j.say("step %d was skipped: a value was not finite; the images are listed in %s", e.Step, events.path)
		case train.Saved:
			p.set(e.Step, "saved "+filepath.Base(e.Path))
		case train.Evaluated:
			if err := saveEvaluation(j, s, e); err != nil {
				return err
			}
		case train.Done:
			p.end()
			j.say("done: %d steps, run directory %s", e.Step, s.Out)
		}
	}
	return nil
}

// saveEvaluation writes the result beside the run and prints it.
func saveEvaluation(j *job, s *trainSettings, e train.Event) error {
	if err := saveJSON(filepath.Join(s.Out, evaluationFile), e.Result); err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, e.Result)
	}
	j.print("step %d: ", e.Step)
	return e.Result.Table(j.stdout)
}

// meter turns the events of the last half minute into a note.
type meter struct {
	images, seconds, waited float64
	loss                    float64
	began                   time.Time
}

func (m *meter) note(e train.Event) string {
	if m.began.IsZero() || time.Since(m.began) > every {
		*m = meter{loss: e.Loss, began: time.Now()}
	}
	m.images += float64(e.Images)
	m.seconds += e.Seconds
	m.waited += e.Waited
	m.loss += (e.Loss - m.loss) / 10 // a running mean over some ten steps
	return fmt.Sprintf("loss %.4f, lr %.2g, %.0f img/s, %.0f %% waiting for images", m.loss, e.Rate, m.images/m.seconds, 100*m.waited/m.seconds)
}

// trainError gives the trainer's errors their exit codes and next steps.
func trainError(err error) error {
	var resume *train.ResumeError
	var damaged *train.DamagedError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &resume):
		return withHint(withCode(exitUsage, err), "give the run its own directory with --out, or go back to the settings of this one")
	case errors.As(err, &damaged):
		return withHint(withCode(exitIntegrity, err), "remove %s to continue from the checkpoint before it", filepath.Dir(damaged.Path))
	case errors.As(err, new(*train.ConfigError)):
		return withCode(exitUsage, err)
	}
	return err
}
