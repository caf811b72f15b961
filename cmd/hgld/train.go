package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/filelock"
	"hgld/internal/metrics"
	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/shards"
	"hgld/train"
	"hgld/train/backbone"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/embeddings"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/runs"
	"hgld/train/external"
	"hgld/train/input"
	"hgld/train/pretrained"
	"hgld/train/retrieval"
	"hgld/train/selection"
	"hgld/train/warmstart"
)

// trainSettings are the settings of the stage train.
type trainSettings = runs.Settings

const (
	trainExamples = "  hgld train run                          train on shards/ into runs/default\n" +
		"  hgld train run --limit 20               a trial of 20 steps\n" +
		"  hgld train run -o loss.name=happier -o optim.lr=1e-3 --out runs/happier\n" +
		"  hgld train resume runs/happier          continue that run with its own settings"
	trainRunExamples = trainExamples + "\n" +
		"  hgld train run --config run.yaml        settings from a run file\n" +
		"  hgld train run --config sop/happier     a published run, next to its row in the paper: hgld train recipes\n" +
		"  hgld train run --hold-out 0.1 -o run.evaluate=5 --query test\n" +
		"                                          select the best checkpoint on a tenth of the classes,\n" +
		"                                          which are held out of training; test at the end\n" +
		"  hgld train run --seeds 3                three runs, with mean and interval of each metric\n" +
		"  hgld train run --dry-run                estimate memory and time of the run\n" +
		"  hgld train run --overfit                check that the network can memorise one batch\n" +
		"  hgld train run --profile                measure how long the parts of a step take"
)

func trainStage() pipeline.StageOf[trainSettings] {
	return pipeline.New(pipeline.Spec[trainSettings]{
		Name: "train", Command: "train run",
		Defaults: runs.DefaultSettings(),
		Files: func(s *trainSettings) (in, out []string) {
			start := append([]string{startingWeights(s)}, pretrained.Companions(startingWeights(s))...)
			return append(s.Images.Files(), slices.Concat(start, s.Images.Benchmarks, s.Landmarks.Truth, s.Landmarks.Images)...),
				[]string{s.Out}
		},
		Complete: adoptStart,
		Run:      onJob(runTrain),
		Check:    checkTrain,
	})
}

func checkTrain(s *trainSettings) error {
	return errors.Join(checkStore(s), s.Config.Check())
}

func trainCommand() *cli.Command {
	run := stageCommand(trainStage().Stage, "run",
		"train a model, or continue the run in the run directory", trainRunExamples)
	run.Flags = append(append(run.Flags, deviceFlag()), trainRunFlags()...)
	run.Action = trainRunAction
	return group("train", "stage 5: shards -> a retrieval model", trainExamples,
		run, trainResumeCommand(), trainExportCommand(), trainRecipesCommand(), trainLossesCommand(), trainBenchCommand())
}

// trainRunFlags returns the flags of hgld train run that are not settings of a run.
func trainRunFlags() []cli.Flag {
	return append([]cli.Flag{configFlag(), seedsFlag(), commandFlag(), storeFlag()}, rehearsalFlags()...)
}

func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config",
		Usage: "take the settings from `FILE` instead of hgld.yaml; or the defaults from a recipe, such as sop/happier"}
}

// commandFlag allows the command of an external loss. It is no setting, so that no file can give it.
func commandFlag() cli.Flag {
	return &cli.BoolFlag{Name: "allow-command",
		Usage: "run the command of an external loss or model"}
}

func trainRunAction(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	if err := j.findRanks(); err != nil {
		return err
	}
	err = trainOrRehearse(c, j)
	return j.ranks.Leave(err) // of those that trainOrRehearse may have started
}

func trainOrRehearse(c *cli.Context, j *job) error {
	s := trainStage().Defaults()
	published, err := loadTrain(c, j, s)
	if err != nil {
		return err
	}
	rehearse, err := rehearsalOf(c)
	if err != nil {
		return err
	}
	if err := j.spread(j.device); err != nil {
		return err
	}
	if rehearse != nil {
		err := rehearse(j, s)
		j.ranks.Note(err)
		return errors.Join(trainError(err), j.Close())
	}
	if from := j.project.Origin("train.steps"); s.Steps == 0 && from != settings.FromDefault {
		j.log("%s: steps is 0, so the training takes %s; `hgld eval run --run DIR --untrained` measures a network before "+
			"its training", from, count(s.Epochs, "epoch"))
	}
	if n := c.Int("seeds"); n > 1 {
		if j.ranks.Count() > 1 {
			return usagef("--seeds %d trains one run after another, and %s started %d processes for one: start each run by "+
				"itself, with --seed and --out", n, j.ranks.Place.Launcher, j.ranks.Count())
		}
		if err := trainSeeds(c, s, n); err != nil || published == nil || j.json {
			return err
		}
		return published.compareSeeds(j, s.Seeded(n))
	}
	err = executeTraining(trainStage().Stage, j, s)
	if err != nil || published == nil || j.json || j.follows() {
		return err
	}
	return published.compare(j, s.Out)
}

// executeTraining runs the stage. A process that follows rank 0 only computes: it records nothing and has no lock.
func executeTraining(st pipeline.Stage, j *job, s *trainSettings) error {
	if j.follows() {
		return errors.Join(runTrain(j, s), j.Close())
	}
	return st.Execute(j, s)
}

func runTrain(j *job, s *trainSettings) (err error) {
	defer func() { j.ranks.Note(err) }()
	if err := errors.Join(checkStore(s), j.project.CheckStores("train", s)); err != nil {
		return err
	}
	data, err := openTrainingData(j, s)
	if err != nil {
		return err
	}
	defer data.Close()
	decoder, which, err := imageDecoder()
	if err != nil {
		return err
	}
	origin := map[string]string{"tool": version, "data": s.Images.String(), "jpeg": which}
	copies, err := openCopy(j, s) // before the processes meet, so that all find what rank 0 has fetched
	if err != nil {
		return err
	}
	j.works("train run", s.Out)
	b, err := j.openTraining()
	if err != nil {
		return err
	}
	plan, err := train.PlanOn(s.Config, data.ForTraining(), b, s.Out)
	if err != nil {
		return trainError(err)
	}
	if !j.follows() {
		if err := checkpoint.WaitForLock(j.ctx, s.Out); err != nil {
			return trainError(err)
		}
	}
	r, err := train.New(s.Config, data.ForTraining(), train.Options{
		Backend: b, Decoder: decoder, Dir: s.Out, Origin: origin, Limit: j.limit, Plan: plan,
		Threads:      j.threads,
		AllowCommand: j.allowCommand, CommandDir: j.project.Dir, Baseline: true,
	})
	if err != nil {
		return trainError(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if j.follows() {
		return follow(j, r)
	}
	resolved := *s
	resolved.Config = r.Config()
	same, err := resolved.Write()
	if err != nil {
		return err
	}
	total := r.Total()
	if same && r.Step() >= total && runs.IsDone(s.Out, r.Step()) {
		return trainError(copies.finish(j, showFinishedRun(j, s.Out, r.Step())))
	}
	where := "from the start"
	if r.Resumed() != "" {
		where = fmt.Sprintf("continuing after step %d", r.Step())
	}
	j.log("training %s with %s on %d %s of %s: %d parameters, %d steps (%.3g epochs of %d), %s",
		resolved.Model.Backbone.Name, s.Loss.Name, data.Train.Len(), config.ItemsText(onVectors(s)), s.Images.Files()[0],
		r.Parameters(), total, float64(total)/float64(r.PerEpoch()), r.PerEpoch(), where)
	if r.Resumed() == "" {
		j.logAll("note: %s", s.Adopted.Notes)
	}
	for _, command := range r.Commands() {
		j.log("the loss is computed by another program: %s", external.Words(command))
	}
	sayUnusualStart(j, s, r)
	if now, before := r.Ranks(); now != before {
		j.log("%s trained together up to here and %d do from now on: sums are rounded differently, so the bytes of the "+
			"weights differ from those of an undisturbed run", count(before, "process"), now)
	}
	if absent, classes := r.Absent(); absent > 0 {
		j.log("%s", train.AbsentText(absent, classes))
	}
	if data.Query == nil && len(data.Benchmarks)+len(data.Landmarks) == 0 && r.Resumed() == "" {
		j.log("nothing will be evaluated: hold out classes with --hold-out, or name a split with --query")
	}
	before, err := baselineOf(j, b, r, data, s.Out)
	if err != nil {
		return err
	}
	log, err := runs.OpenLog(s.Out, r.Step())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	return trainError(copies.finish(j, followRun(j, r, s, data, total, log, copies, before)))
}

// follow computes what rank 0 writes and prints.
func follow(j *job, r *train.Run) error {
	for e, err := range r.Events(j.ctx) {
		if err != nil {
			return trainError(err)
		}
		measureEvent(&e)
	}
	return nil
}

// measureEvent keeps the numbers of an event of a training.
func measureEvent(e *train.Event) {
	metrics.Set("hgld_step", float64(e.Step))
	metrics.Set("hgld_epoch", float64(e.Epoch))
	switch e.Kind {
	case train.Stepped:
		metrics.Add("hgld_images_total", float64(e.Images))
		metrics.Add("hgld_step_seconds_total", e.Seconds)
		metrics.Add("hgld_waited_for_images_seconds_total", e.Waited)
		if e.Loss != nil {
			metrics.Set("hgld_loss", *e.Loss)
		}
	case train.Skipped:
		metrics.Add("hgld_skipped_steps_total", 1)
	case train.Saved:
		metrics.Add("hgld_checkpoints_total", 1)
	}
}

// sayUnusualStart tells the user if the start of a run is unusual: a damaged checkpoint, weights
// that are not used, or a complete run that continues.
func sayUnusualStart(j *job, s *trainSettings, r *train.Run) {
	for _, d := range r.Damaged() {
		j.log("%v; the run falls back to %s and keeps the damaged checkpoint as %s", d.Err,
			filepath.Base(r.Resumed()), d.Path)
	}
	j.logAll("note: %s", r.StartNotes())
	if l := r.Loader(); l.Width == 0 {
		if side := input.StoredSide(l.Data); side > 0 && side < l.In.Size {
			j.log("the images of %s are stored with a short side of at most %d pixels, fewer than input.size, %d: the "+
				"network sees enlarged pixels; hgld shards build --short-side %d keeps more of them", s.Images.Files()[0], side,
				l.In.Size, l.In.Size)
		}
	}
	if left := r.Left(); len(left) > 0 {
		j.log("%s contains a whole network, but model.weights loads only its backbone: %s start from scratch; "+
			"--from %s loads them too",
			s.Model.Weights, strings.Join(left, ", "), word(s.Model.Weights))
	}
	if e := r.Extension(); e != nil {
		j.log("the run was complete after %d %s and continues to %d: its schedule, %s, is now stretched over %d %s, and "+
			"optim.lr changes from %.3g to %.3g",
			e.Was, e.Unit, e.Now, e.Schedule, e.Now, e.Unit, e.Before, e.Rate)
	}
}

// showFinishedRun prints the result of a run that was already complete. If settings under run
// had changed, the run would be evaluated again instead.
func showFinishedRun(j *job, run string, step int) error {
	j.log("%s is complete: %s; nothing is left to do", run, count(step, "step"))
	if _, err := os.Stat(filepath.Join(run, runs.EvaluationFile)); pipeline.IsMissing(err) {
		return nil // nothing was evaluated
	}
	result, err := readEvaluation(run)
	if err != nil {
		return err
	}
	if j.json {
		return printResult(j, result)
	}
	j.print("step %d, %s: ", step, result.On)
	return result.Table(j.stdout)
}

// onVectors reports whether a run is trained on vectors instead of images.
func onVectors(s *trainSettings) bool { return s.Images.Embeddings != "" }

// followRun prints and records the events of a run.
func followRun(j *job, r *train.Run, s *trainSettings, data *selection.Data, total int, log *runs.Log,
	copies *runCopy, before *baseline) error {
	p := j.progress("step", total)
	p.From(r.Step())
	defer p.End()
	epoch := r.PerEpoch()
	speed := runs.Meter{Vectors: onVectors(s), PerEpoch: epoch, Epochs: (total + epoch - 1) / epoch}
	items := config.ItemsText(speed.Vectors)
	steps, undefined := 0, 0
	for e, err := range r.Events(j.ctx) {
		if err != nil {
			return err
		}
		measureEvent(&e)
		if err := log.Add(e); err != nil {
			return err
		}
		if err := before.note(j, e); err != nil {
			return err
		}
		switch e.Kind {
		case train.Projected:
			j.log("the projection starts from principal components of %d %s", e.Images, items)
		case train.Stepped:
			steps++
			if e.Loss == nil {
				if undefined++; undefined == 1 {
					j.log("step %d has no loss: no two of the %s in its batch share a class; a "+
						"sampler with m of 2 or more avoids this", e.Step, items)
				}
			}
			p.Set(e.Step, speed.Note(e))
		case train.Skipped:
			j.log("step %d was skipped because a value was not finite; %[3]s lists the batch and its %[2]s", e.Step, items,
				log.Path())
		case train.Saved:
			p.Set(e.Step, "saved "+filepath.Base(e.Path))
			if err := copies.save(j); err != nil {
				return err
			}
		case train.Evaluated:
			if err := saveEvaluation(j, r, s, data, e); err != nil {
				return err
			}
		case train.Reduced:
			j.log("step %d: the evaluations do not improve; all learning rates are now scaled by %.3g", e.Step, e.Rate)
		case train.Stopped:
			j.log("step %d: the evaluations did not improve for %d in a row; the run ends", e.Step, r.Config().Stop.Patience)
		case train.Done:
			p.End()
			if undefined > 0 {
				j.log("%d of %s had no loss, because no query had a positive", undefined, count(steps, "step"))
			}
			j.log("done: %s, run directory %s", count(e.Step, "step"), s.Out)
			if best, err := checkpoint.ReadBest(s.Out); err == nil {
				j.log("best %s of the %s: %.4f after step %d, %s", best.Metric, best.On, float64(best.Value), best.Step,
					filepath.Join(s.Out, best.Checkpoint))
			}
			if err := before.compare(j); err != nil {
				return err
			}
		}
	}
	return nil
}

// saveEvaluation writes the result to the run directory and prints it.
func saveEvaluation(j *job, r *train.Run, s *trainSettings, data *selection.Data, e train.Event) error {
	result := *e.Result
	result.On = e.On
	var err error
	result.Tool = thisTool()
	if result.Of, err = selection.OwnSubject(r, s.Out, s.Images, s.Landmarks.Truth, data, e); err != nil {
		return err
	}
	kept := s.Run.KeepBestTest && e.On == "test" && betterKept(s.Out, &result)
	if !kept {
		if err := runs.WriteJSON(filepath.Join(s.Out, runs.EvaluationFile), result); err != nil {
			return err
		}
	}
	if j.json {
		return printResult(j, &result)
	}
	best := ""
	if e.Best {
		best = ", the best so far"
	}
	j.print("step %d, %s%s: ", e.Step, e.On, best)
	return e.Result.Table(j.stdout)
}

// betterKept reports whether eval.json holds an evaluation that is at least as good as result, by the
// metric that chooses the best checkpoint.
func betterKept(run string, result *retrieval.Result) bool {
	best, err := checkpoint.ReadBest(run)
	if err != nil {
		return false
	}
	stored, err := readEvaluation(run)
	return err == nil && stored.On == result.On && stored.Mean(best.Metric) >= result.Mean(best.Metric)
}

// trainError adds the next step of a training that another process has, or that needs more memory
// than there is.
func trainError(err error) error {
	switch {
	case errors.As(err, new(*filelock.LockedError)):
		return withHint(err, "wait for that process, or train in another directory: hgld train run --out DIR")
	case errors.As(err, new(*device.OutOfMemory)):
		return withHint(err, "use a smaller -o sampler.batch, or compute the same batch in chunks: "+
			"-o passes.chunk=32; hgld train run --dry-run prints how much memory a training needs")
	}
	return err
}

// startingWeights returns the file or run that a training starts from. If the run already has a
// checkpoint it no longer needs that file, so startOf returns "" if the file is gone.
func startingWeights(s *trainSettings) string {
	path := cmp.Or(s.Model.Weights, s.From)
	if files, err := runs.Files(s.Out); err == nil && len(files) > 0 && len(pipeline.Missing([]string{path})) > 0 {
		return ""
	}
	return path
}

// adoptStart sets what was not given to what is known of the weights that a training starts from.
func adoptStart(p *pipeline.Project, s *trainSettings) (err error) {
	given := func(key string) bool { return p.Origin("train."+key) != settings.FromDefault }
	leaveImages(p, s)
	startHead(s, given)
	if startingWeights(s) == "" && cmp.Or(s.Model.Weights, s.From) != "" {
		keepAdopted(s, given) // the run has begun, and the weights are gone
		return nil
	}
	adopted, err := warmstart.Adopt(&s.Config, given)
	if err != nil {
		return err
	}
	s.Adopted = *adopted
	for key, source := range adopted.Origins {
		p.SetOrigin("train."+key, source)
	}
	return nil
}

// leaveImages resets the network of a project that reads images if the command line names vectors to train on: its
// backbone, weights and pooling are of the images, as the settings of another loss are of that loss.
func leaveImages(p *pipeline.Project, s *trainSettings) {
	typed := func(key string) bool { return strings.HasPrefix(p.Origin("train."+key), "-") }
	if s.Images.Embeddings == "" || !typed("embeddings") || s.Model.Backbone.Name == backbone.VectorsName {
		return
	}
	usual := trainStage().Defaults().Model
	if !typed("model.backbone.name") && !typed("model.backbone.settings") {
		s.Model.Backbone = usual.Backbone
	}
	if !typed("model.weights") {
		s.Model.Weights = usual.Weights
	}
	if !typed("model.pooling") {
		s.Model.Pooling = usual.Pooling
	}
}

// startHead lets a head on vectors choose its initial projection, unless one was given or its run has begun.
func startHead(s *trainSettings, given func(key string) bool) {
	if s.Images.Embeddings == "" || given("model.projection") {
		return
	}
	s.Model.Projection = config.ProjectionAuto
	if old, err := runs.ReadSettings(s.Out); err == nil && old != nil && old.Model.Projection == "" {
		now := old.Config
		now.Model.Projection = config.ProjectionAuto
		if now.ResolveProjection(math.MaxInt); now.Model.Projection != "" {
			s.Model.Projection = "" // as an older hgld began it
		}
	}
}

// keepAdopted sets what was not given to what the run in the run directory has.
func keepAdopted(s *trainSettings, given func(key string) bool) {
	old, err := runs.ReadSettings(s.Out)
	if err != nil || old == nil {
		return // as the training reports
	}
	keep := func(key string, copied func()) {
		if !given(key) {
			copied()
		}
	}
	keep("input.mean", func() { s.Input.Mean = old.Input.Mean })
	keep("input.std", func() { s.Input.Std = old.Input.Std })
	keep("input.filter", func() { s.Input.Filter = old.Input.Filter })
	keep("input.size", func() { s.Input.Size = old.Input.Size })
	keep("input.resize", func() { s.Input.Resize = old.Input.Resize })
	keep("input.squash", func() { s.Input.Squash = old.Input.Squash })
	if a, ok := backbone.AliasOf(s.Model.Backbone.Name); ok {
		s.Model.Backbone.Name = a.Name
	}
	if b := &s.Model.Backbone; b.Name == old.Model.Backbone.Name && len(old.Model.Backbone.Settings) > 0 {
		merged := maps.Clone(old.Model.Backbone.Settings)
		maps.Copy(merged, b.Settings)
		b.Settings = merged
	}
}

// trainArgument is the advice on an argument to `hgld train run`, which takes none.
func trainArgument(path string) string {
	if _, err := plan.GetRecipe(path); err == nil {
		return "hgld train run --config " + word(path) + " trains with that recipe"
	}
	contains := func(name string) bool {
		_, err := os.Stat(filepath.Join(path, name))
		return err == nil
	}
	switch {
	case contains(runs.SettingsFile):
		return "hgld train resume " + word(path) + " continues that run"
	case contains(shards.ManifestFile):
		return "hgld train run --data " + word(path) + " trains on these shards"
	case embeddings.IsKind(path):
		return vectorsArgument("hgld train run", path)
	}
	return "name a run file with --config"
}

func seedsFlag() cli.Flag {
	return &cli.IntFlag{Name: "seeds", Value: 1,
		Usage: "train `N` runs with different seeds in OUT-seed0, OUT-seed1 …, and print mean and interval; finished runs are kept"}
}

// trainSeeds trains one run per seed, one after the other, and compares them. It does not
// repeat runs that are complete.
func trainSeeds(c *cli.Context, s *trainSettings, seeds int) error {
	var dirs []string
	for _, of := range s.Seeded(seeds) {
		j, err := newJob(c)
		if err != nil {
			return err
		}
		if err := trainStage().Execute(j, &of); err != nil {
			return err
		}
		dirs = append(dirs, of.Out)
	}
	j, err := newJob(c)
	if err != nil {
		return err
	}
	j.args = dirs
	return compareOptions{seeds: true, format: "text"}.compareRuns(j)
}
