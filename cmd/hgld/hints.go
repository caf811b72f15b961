package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/cluster"
	pages "hgld/cluster/report"
	"hgld/cmd/hgld/internal/demo"
	"hgld/curate"
	"hgld/curate/format"
	"hgld/internal/download"
	"hgld/internal/filelock"
	"hgld/internal/objectstore"
	"hgld/internal/objectstore/address"
	"hgld/internal/pipeline"
	"hgld/internal/regular"
	"hgld/internal/rendezvous"
	"hgld/internal/spelling"
	"hgld/labels"
	"hgld/scrape"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/shards/examples"
	"hgld/train"
	"hgld/train/embeddings"
	"hgld/train/history"
	"hgld/train/index"
	"hgld/train/mirror"
	"hgld/train/pretrained"
	"hgld/train/report"
	"hgld/train/retrieval"
	"hgld/train/selection"
	"hgld/train/study"
	textenc "hgld/train/text"
	"hgld/train/tune"
)

// fillIn is the hint for a row without a class at some level.
const fillIn = "fill in the class, or pass --uneven keep, in train run and loss --uneven: a missing level then says " +
	"nothing (docs/labels.md)"

// advice is the table of exit codes and next steps for the errors that packages return. The
// first row that knows an error counts. A command that knows more than the error does adds its
// own hint by [withHint], which takes precedence.
var advice = []func(err error) (code int, hint string, ok bool){
	kind(exitLocked, func(*filelock.LockedError) string { return "end that process, or wait for it" }),
	kind(exitFailed, func(*download.AnswerError) string {
		return "open the address in a browser: it may have moved, or need a login"
	}),
	kind(exitTemporary, func(e *download.TemporaryError) string {
		return fmt.Sprintf("run the same command again: it continues after %d bytes", e.Bytes)
	}),

	kind(exitUsage, addressHint),
	kind[*address.Error](exitUsage, nil),
	kind[*objectstore.ConfigError](exitUsage, nil),
	storeAdvice,
	kind(exitIntegrity, func(*objectstore.SumError) string {
		return "another program has changed it, or the store has damaged it: `hgld shards verify` shows the extent"
	}),
	kind(exitLocked, func(*shards.RivalError) string {
		return "let one of the processes write to another place (--out), and run the same command again"
	}),

	// projects and stages
	kind[*pipeline.SettingsError](exitUsage, nil),
	kind(exitOK, func(*pipeline.StagesError) string {
		return "hgld config show --origin says where a value comes from"
	}),
	kind(exitNoProject, func(e *pipeline.NoProjectError) string {
		if e.Dir == "" {
			return "`hgld init my-project` starts a project; `hgld demo` shows one"
		}
		return fmt.Sprintf("`hgld init %s` starts a project there", word(e.Dir))
	}),
	kind(exitUsage, func(*pipeline.HomeError) string { return homeHint }),
	kind(exitUsage, occupiedOutput),
	kind(exitUsage, func(e *pipeline.OffError) string { return fmt.Sprintf("add %s to that list", e.Stage) }),
	kind(exitIntegrity, changedInput),
	kind(exitIntegrity, func(e *pipeline.StampError) string {
		return fmt.Sprintf("delete it, and `hgld %s` writes it again", e.Command)
	}),
	kind(exitOK, missingInput),
	kind(exitSomeFailed, stoppedRun),
	kind(exitInterrupted, func(*demo.StoppedError) string {
		return "the demo cannot be resumed; start it again: hgld demo --out another-folder"
	}),
	sentinel(demo.ErrInUse, exitUsage, "name a folder that does not exist yet: hgld demo --out new-folder"),

	// scrape
	kind(exitUsage, func(e *scrape.MismatchError) string {
		hint := "keep both in separate folders: --state another-folder"
		if have, err := strconv.Unquote(e.Have); err == nil && strings.HasSuffix(e.Setting, "_url") {
			return "continue it: --" + strings.ReplaceAll(e.Setting, "_", "-") + " " + word(have) + "; or " + hint
		}
		return hint
	}),
	kind(exitIntegrity, func(*scrape.DamageError) string {
		return "`hgld scrape run` without --reparse fetches the damaged pages again"
	}),
	sentinel(scrape.ErrMoreNeeded, exitTemporary, "`hgld scrape run` without --reparse fetches the rest"),
	kind(exitOK, func(*scrape.NoVersionsError) string { return "--since needs --source api" }),
	sentinel(scrape.ErrNoTagsBefore, exitOK, "run without --since first"),

	// embed and cluster
	kind(exitOK, func(*cluster.MissingTextsError) string {
		return "hgld embed --print-texts lists what to encode; --prompt sets the sentence around a tag"
	}),
	sentinel(textenc.ErrActivation, exitUsage, "set it: -o clip.activation=quick_gelu, or gelu"),
	kind(exitUsage, func(*textenc.NoWeightsError) string {
		return "hgld embed --list says which files are needed; --weights also takes a file with another name"
	}),
	kind(exitUsage, func(e *textenc.PickleError) string {
		return fmt.Sprintf("scripts/convert_weights.py %s %s converts it", word(e.Path),
			word(strings.TrimSuffix(e.Path, filepath.Ext(e.Path))+".safetensors"))
	}),
	kind[*cluster.OptionError](exitUsage, nil),
	sentinel(cluster.ErrNoImages, exitUsage, "name lists of images with --counts train.csv"),
	kind(exitOK, func(*cluster.EncoderError) string {
		return "name the first one in embed.encoder, or make new vectors with `hgld embed`"
	}),
	kind(exitOK, func(*pages.SweepError) string { return "want the output of `hgld cluster sweep --json`" }),

	// curate
	kind(exitIntegrity, func(e *curate.DamageError) string {
		if e.Line <= 1 {
			return "want a log that `hgld curate serve` or `import` began, such as edits.jsonl; if this was one, restore it " +
				"from a backup"
		}
		return fmt.Sprintf("restore the log from a backup; `hgld curate salvage %s` keeps the edits before the damage",
			word(filepath.Base(e.Path)))
	}),
	kind[*curate.AdjudicationError](exitUsage, nil),
	kind[*curate.MismatchError](exitIntegrity, nil),
	sentinel(curate.ErrConflict, exitOK, "--on-conflict skip replays all other edits and lists these"),
	kind(exitUsage, func(e *format.OtherError) string {
		if e.Kind == format.EditsFile {
			return "`hgld curate log` lists it, `hgld curate apply` makes hierarchy.json of it"
		}
		return "`hgld cluster run` makes a draft of them"
	}),
	sentinel(format.ErrNoLandmarks, exitOK,
		"give those of stage 1 with --tags tags.jsonl, or run `hgld labels build`"),
	kind(exitOK, func(*examples.RowError) string { return "`hgld labels check` lists all errors of the file" }),

	// shards
	kind(exitOK, func(e *shards.UnfinishedError) string {
		if e.NoFolder {
			return "`hgld shards build` writes one"
		}
		return "`hgld shards build` finishes it"
	}),
	kind(exitUsage, missingSlices),
	kind(exitUsage, func(*shards.SettingsError) string {
		return "`hgld shards finish` takes the settings of the slices: repeat their flags"
	}),
	kind(exitOK, refusedBuild),
	kind(exitTemporary, func(*shards.ReadError) string {
		return "no image was left out; the same command continues once the file can be read"
	}),
	kind[*shards.InputError](exitIntegrity, nil),
	kind(exitIntegrity, func(e *shards.DamageError) string {
		if e.File == shards.WebDatasetFile || strings.HasSuffix(e.File, ".tar") {
			return "`hgld shards convert` writes the folder again"
		}
		return "`hgld shards verify` shows the extent of the damage"
	}),
	kind(exitOK, datasetSetting),
	kind(exitUsage, func(e *dataset.OrderError) string {
		return "name them finest first: --levels " + word(strings.Join(e.Right(), ",")) +
			"; if the order is right, rename one of the two classes with equal names"
	}),
	kind(exitUsage, func(e *dataset.NotShardsError) string {
		if !e.Buildable {
			return "`hgld shards build` writes one"
		}
		return buildFirst(e.Path)
	}),
	kind(exitUsage, func(e *dataset.AddressesError) string {
		if e.Local != "" {
			return "name the column of local paths: -o columns.path=" + word(e.Local)
		}
		return "download them first, and name their folder (--images FOLDER) if they are saved under the last part of " +
			"their addresses, or else a column of local paths (-o columns.path=COLUMN)"
	}),
	kind(exitFailed, func(*dataset.NameError) string {
		return "rename it; all names of Windows-1252 in a folder: convmv -f windows-1252 -t utf8 -r --notest FOLDER"
	}),
	kind(exitUsage, func(e *dataset.NoPictureError) string {
		if strings.Contains(e.Path, "://") {
			return "download it first: the query is an image file on this machine"
		}
		return "the query is an image file; --id searches for a row of the index"
	}),

	// train and runs
	kind[*selection.Error](exitUsage, nil),
	kind(exitUsage, func(*selection.NoSplitsError) string {
		return "--hold-out 0.2 keeps a fifth of the classes for validation"
	}),
	kind[*train.ConfigError](exitUsage, nil),
	kind(exitUsage, func(*train.CommandError) string {
		return "--allow-command runs it; if the configuration is not your own, read first what the command does"
	}),
	kind[*retrieval.LevelsError](exitUsage, nil),
	kind[*train.RanksError](exitUsage, nil),
	kind(exitIntegrity, func(*train.DivergedError) string {
		return "processors of different kinds may round differently: start all processes on machines of one kind; the run " +
			"continues from its last checkpoint"
	}),
	kind(exitTemporary, func(*rendezvous.GoneError) string {
		return "the same command continues from the newest checkpoint"
	}),
	kind[*rendezvous.RefusedError](exitUsage, nil),
	kind(exitLocked, func(*train.TakenOverError) string {
		return "the directory has the other process's checkpoints; this one's steps since its last checkpoint are lost"
	}),
	kind(exitUsage, func(*train.ShapeError) string { return "--side 0 crops them, as in other evaluations" }),
	kind(exitUsage, func(*train.ResumeError) string {
		return "rename the run directory to keep the run, or delete it, and the same command trains anew; hgld train " +
			"run --out DIR trains in another directory; or restore the settings of this run"
	}),
	kind(exitIntegrity, func(e *train.DamagedError) string {
		if !strings.HasPrefix(filepath.Base(filepath.Dir(e.Path)), "step-") {
			return "remove only the file " + e.Path
		}
		return "an older checkpoint may be intact: hgld train resume falls back to it; hgld train run --out DIR " +
			"starts a new run elsewhere"
	}),
	kind(exitOK, func(e *train.WeightsFolderError) string {
		return "to start from the whole network of a run, use --from " + word(e.Path)
	}),
	kind(exitOK, func(*train.UnfitError) string { return "hgld models check tells which backbone a file fits" }),
	kind(exitIntegrity, func(e *history.FormatError) string {
		if filepath.Base(e.Path) != history.SettingsFile {
			return ""
		}
		return "restore the file; to train with other settings, name it with --config and a new run with --out"
	}),
	kind[*history.SettingsError](exitUsage, nil),
	kind(exitIntegrity, func(*tune.FormatError) string { return searchAgain }),
	kind(exitIntegrity, func(*forgedError) string { return searchAgain }),
	kind(exitUsage, func(*tune.OtherPlanError) string {
		return "name another folder for this search: hgld runs tune --out DIR"
	}),
	kind[*study.FileError](exitUsage, nil),
	kind(exitIntegrity, func(*study.FormatError) string {
		return "restore the file; or delete it, and hgld study run writes it again and keeps the runs"
	}),
	kind(exitUsage, func(*study.OtherError) string {
		return "repeat the flags that it began with, or name another folder for this study: hgld study run --out DIR"
	}),
	kind(exitIntegrity, func(*study.InputError) string {
		return "restore it, or begin the study again in another folder: hgld study run --out DIR"
	}),
	kind(exitIntegrity, func(*study.RunError) string {
		return "restore the run, or delete its directory, and hgld study run trains it again"
	}),
	sentinel(pretrained.ErrExists, exitUsage, "replace it with --replace, or name another file with --out"),
	sentinel(pretrained.ErrSum, exitIntegrity, "the file is damaged, or is not the one that was published"),
	sentinel(pretrained.ErrFit, exitIntegrity, "hgld models list lists the networks"),

	kind(exitUsage, func(*mirror.OtherRunError) string {
		return "name another run directory (--out) or another place (--store); or remove the run directory, and the run " +
			"continues from its copy"
	}),
	kind(exitIntegrity, func(*mirror.DamagedError) string {
		return "remove the damaged checkpoints there, or name another place (--store)"
	}),

	// vectors and searches
	kind(exitOK, func(*embeddings.TwoTablesError) string { return "choose one with --labels" }),
	sentinel(embeddings.ErrNoClasses, exitOK, "name them with --levels, or give the labels as a .csv with --labels"),
	kind(exitUsage, func(e *embeddings.NoLevelError) string {
		return "--levels names the columns of classes; --levels " + word(e.Level) + " takes this one all the same"
	}),
	kind(exitUsage, func(*labels.LevelError) string { return fillIn }),
	kind(exitUsage, func(e *labels.FurtherLevelError) string {
		if e.Row.Level != curate.DefaultLevels[0] {
			return ""
		}
		path, _, _ := strings.Cut(e.Row.Where, ".csv:")
		return "the labels name no tags; `hgld labels build --also " + word(path+".csv") + "` writes a row for each landmark in " +
			"place of its tag"
	}),
	kind(exitOK, func(e *embeddings.NoTreeError) string {
		if e.Uneven() {
			return fillIn
		}
		return ""
	}),
	kind(exitUsage, func(e *spelling.MissingError) string {
		return "--missing " + word(e.Word) + " says that it means no class, --missing=-1 that it is one"
	}),
	kind(exitUsage, func(*embeddings.SameIDError) string {
		return "--equal-ids " + embeddings.SameImages + " says that these are the same images and leaves them out, and " +
			"--equal-ids " + embeddings.OtherImages + " that they are others"
	}),
	kind[*embeddings.KindsError](exitUsage, nil),
	kind[*embeddings.NothingSharedError](exitUsage, nil),
	kind(exitOK, convertVectors),
	kind(exitOK, oneOfSeveral),
	kind(exitOK, missingLabels),
	kind(exitUsage, func(*report.MetricError) string { return "name one of them with --by, such as AP_level0" }),
	kind[*index.IDError](exitUsage, nil),
	kind[*index.ImageError](exitUsage, nil),
	kind[*index.UnreadError](exitSomeFailed, nil),
	kind[*index.DamageError](exitIntegrity, nil),
	kind(exitIntegrity, func(*index.ChangedError) string { return "make the index again with hgld eval embed" }),
	kind(exitIntegrity, func(*report.ExportError) string {
		return "make the export again with hgld eval export; if you changed the file on purpose, give it another name"
	}),
	kind(exitIntegrity, func(e *index.InfoError) string {
		return "make the index again with hgld eval embed; if another program wrote it, give it another name"
	}),
	kind(exitUsage, func(e *index.ModelError) string {
		return "leave --run out, or make the index again: hgld eval embed --run " + word(e.Model)
	}),
}

// kind is the row of the errors of type E. Code [exitOK] leaves the exit code to the errors
// within. A nil hint gives none.
func kind[E error](code int, hint func(E) string) func(error) (int, string, bool) {
	return func(err error) (int, string, bool) {
		e, ok := err.(E)
		if !ok || hint == nil {
			return code, "", ok
		}
		return code, hint(e), true
	}
}

// sentinel is the row of one error.
func sentinel(of error, code int, hint string) func(error) (int, string, bool) {
	return func(err error) (int, string, bool) { return code, hint, err == of }
}

// addressHint is the hint for an address in place of a path.
func addressHint(e *regular.AddressError) string {
	if path := e.Local(); path != "" {
		return "leave out file://: " + word(path)
	}
	mount := "copy what it is to read, or mount the storage as a folder (rclone mount, s3fs, gcsfuse), and name that"
	if address.Is(e.Path) {
		return "s3:// is a place for shards (shards.out, train.data, eval.data) and for checkpoints (train.store) alone; " +
			mount
	}
	return "hgld reads and writes files of this machine, and shards at s3://: " + mount
}

// storeAdvice is the row of the errors of object stores.
func storeAdvice(err error) (code int, hint string, ok bool) {
	e, ok := err.(*objectstore.Error)
	if !ok {
		return 0, "", false
	}
	switch e.Kind {
	case objectstore.Temporary:
		return exitTemporary, "run the same command again: it continues; AWS_MAX_ATTEMPTS sets the number of tries", true
	case objectstore.Changed:
		return exitTemporary, "run the same command again: it reads what is there now", true
	case objectstore.NoBucket:
		return exitUsage, "make it (aws s3 mb), or check its name, AWS_REGION and AWS_ENDPOINT_URL", true
	case objectstore.Denied:
		if !e.Signed {
			return exitUsage, "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
				true
		}
		return exitUsage, "check the credentials and what they allow: reading needs s3:GetObject and s3:ListBucket, " +
			"writing also s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload", true
	}
	return exitFailed, "", true
}

// missingSlices is the hint for slices that have to be built before the data set is finished.
func missingSlices(e *shards.MissingSlicesError) string {
	if len(e.Missing) == 0 {
		return "`hgld shards slice` builds one; `hgld shards build` builds everything"
	}
	return fmt.Sprintf("build them: hgld shards slice … %d/%d", e.Missing[0], e.Of)
}

// occupiedOutput is the hint for an output that is not free.
func occupiedOutput(e *pipeline.OutputError) string {
	switch {
	case e.Folder:
		return "name a new or empty folder"
	case e.Edited && e.Command == "curate apply":
		return fmt.Sprintf("`hgld curate import --log LOG %s` makes edits of the changes; `hgld %s --replace` overwrites the file",
			word(filepath.Base(e.Path)), e.Command)
	case e.Replaceable:
		return fmt.Sprintf("name another file, or overwrite this one: `hgld %s --replace`", e.Command)
	}
	return "name another file"
}

// stoppedRun is the hint for a run that ended before its last stage.
func stoppedRun(e *pipeline.StoppedError) string {
	again := typed(e.Project, "run")
	if e.Retryable {
		return fmt.Sprintf("`%s` tries them again first; `%s` goes on without them", again, typed(e.Project, e.Next))
	}
	return fmt.Sprintf("`%s` goes on without them", again)
}

// refusedBuild is the hint for a build that was not published.
func refusedBuild(e *shards.RefusedError) string {
	switch {
	case e.Fewer:
		return "the finished data set is unchanged; repair the input, write to another folder (--out), " +
			"or replace it: `hgld shards build --replace`"
	case len(e.Failures) == e.Images:
		return "check the paths of the images, or name their folder with --images"
	}
	return fmt.Sprintf("repair them, or allow their absence: --allow-missing %g (in hgld.yaml: shards.allow_missing)",
		e.Share())
}

// changedInput is the hint for an input that was changed after a stage wrote it.
func changedInput(e *pipeline.ChangedError) string {
	again := typed(e.Project, e.Writer)
	way := "`%s` writes it again"
	switch {
	case e.Writer == e.Reader:
		way = "delete it, and `%s` makes it again"
	case e.Kept:
		again += " --replace"
	}
	return fmt.Sprintf(way+"; if it was changed on purpose, --changed accepts it and records that", again)
}

const homeHint = "only a shell replaces ~ by your home folder, and only at the start of a word: write the folder out"

// missingInput is the hint for an input that does not exist.
func missingInput(e *pipeline.MissingInputError) string {
	switch {
	case e.Writer != "":
		return fmt.Sprintf("`%s` writes it", typed(e.Project, e.Writer))
	case e.Setting != nil && e.Setting.Key() == "logs" && e.Project.Origin("curate.logs") == "default":
		return fmt.Sprintf("`%s` writes it", typed(e.Project, byHand["curate"]))
	case e.Setting == nil:
		return fmt.Sprintf("name another file: hgld %s --help", e.Command)
	case slices.Contains(strings.Split(filepath.ToSlash(e.Path), "/"), "~"):
		return homeHint
	}
	if meant := fileAdvice(*e.Setting, e.Path); meant != "" {
		return meant
	}
	if len(e.Setting.Path) > 1 {
		return fmt.Sprintf("name another one: -o %s=…", e.Setting.Key())
	}
	return fmt.Sprintf("name another one: --%s …", e.Setting.Flag())
}

// datasetSetting is the hint for a data set that another setting of its importer would mend.
func datasetSetting(e *dataset.SettingError) string {
	value := func(otherwise string) string {
		if len(e.Values) == 0 {
			return otherwise
		}
		return word(strings.Join(e.Values, ""))
	}
	switch {
	case e.Setting == "levels":
		return "name the columns of classes, finest first: --levels " + value("COLUMN,…")
	case e.Setting == "split_folders" && len(e.Values) == 2:
		return fmt.Sprintf("for splits: --split-folders %s; for classes: --split-folders %s", word(e.Values[0]),
			word(e.Values[1]))
	case e.Setting == "split_folders":
		return "--split-folders " + value("NAME=SPLIT,…")
	case e.Setting == "uneven":
		return "--uneven repeat uses the innermost folder, --uneven keep leaves the missing levels without a class"
	case e.Setting == "labels":
		return "--labels names a label file, such as the labels.csv of `hgld labels build`"
	}
	return fmt.Sprintf("name another one: -o %s=%s", e.Setting, value("COLUMN"))
}

// buildFirst is the hint for images or a table in place of shards.
func buildFirst(input string) string {
	switch dataset.Kind(input) {
	case "folder":
		return "build shards from class folders: hgld shards build --dataset folder --input " + word(input)
	case "parquet":
		return "build shards from a Hugging Face data set: hgld shards build --dataset parquet --input " + word(input)
	}
	return "build shards from it: hgld shards build --input " + word(input)
}

// missingLabels is the hint for vectors without labels.
func missingLabels(e *embeddings.NoLabelsError) string {
	flag := map[bool]string{false: "--labels", true: "--gallery-labels"}[e.Gallery]
	if len(e.Tables) == 0 {
		return flag + " names a table with a heading such as id,product,category: the levels, finest first"
	}
	return fmt.Sprintf("%s names one of %s", flag, strings.Join(e.Tables[:min(len(e.Tables), 5)], ", "))
}

// convertVectors is the hint for a file of vectors of another kind.
func convertVectors(e *embeddings.KindError) string {
	extension := filepath.Ext(e.Path)
	npy := strings.TrimSuffix(e.Path, extension) + ".npy"
	from, to := strconv.Quote(e.Path), strconv.Quote(npy)
	python := func(imports, array string) string {
		return "python3 -c " + word(fmt.Sprintf("import %s; np.save(%s, %s)", imports, to, array))
	}
	switch extension {
	case ".csv", ".tsv", ".txt":
		comma := map[string]string{".csv": `, delimiter=","`}[extension]
		return fmt.Sprintf("for labels, use --labels; if it holds vectors, %s makes %s of it",
			python("numpy as np", fmt.Sprintf("np.loadtxt(%s%s)", from, comma)), word(npy))
	case ".h5", ".hdf5":
		return fmt.Sprintf("%s makes %s of its dataset NAME",
			python("h5py, numpy as np", fmt.Sprintf(`h5py.File(%s)["NAME"][:]`, from)), word(npy))
	case ".joblib":
		return fmt.Sprintf("use np.save(%s, x) in the program that made it", to)
	}
	return ""
}

// oneOfSeveral is the hint for a file with several arrays of floats.
func oneOfSeveral(e *embeddings.SeveralError) string {
	load := map[string]string{
		".npz":         "import numpy as np; x = np.load(%[1]s)[%[2]s]",
		".safetensors": "import numpy as np; from safetensors.numpy import load_file; x = load_file(%[1]s)[%[2]s]",
		".pt":          "import numpy as np, torch; x = torch.load(%[1]s)[%[2]s]",
		".pkl":         "import numpy as np, pickle; x = pickle.load(open(%[1]s, 'rb'))[%[2]s]",
	}
	form := load[filepath.Ext(e.Path)]
	if form == "" {
		return ""
	}
	name := e.Names[0]
	to := strings.TrimSuffix(e.Path, filepath.Ext(e.Path)) + "-vectors.npy"
	line := fmt.Sprintf(form+"; np.save(%[3]s, x)", strconv.Quote(e.Path), strconv.Quote(name), strconv.Quote(to))
	return fmt.Sprintf("python3 -c %s makes %s of %s", word(line), word(to), word(name))
}

// listsAll tells the reader of a shortened list how to see all of it.
const listsAll = "--limit 0 lists all"
