package shards

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hgld/internal/objectstore"
	"hgld/internal/testing/fakes3"
	"hgld/internal/testing/must"
)

// place is where the tests' data sets lie in the fake store.
const place = "s3://bucket/sets/one"

// objects returns the files of the data set in the fake store.
func objects(server *fakes3.Server) map[string]string {
	all := map[string]string{}
	for _, key := range server.Keys() {
		if name, ok := strings.CutPrefix(key, "sets/one/"); ok {
			all[name] = string(server.Get(key))
		}
	}
	return all
}

func TestADataSetInAnObjectStoreHasTheSameFiles(t *testing.T) {
	server := fakes3.Start(t)
	local := t.TempDir()
	mustBuild(t, richSource(t), local, rich())
	want := contents(t, local)
	o := rich()
	o.Scratch = t.TempDir()
	r := mustBuild(t, richSource(t), place, o)
	sameContents(t, objects(server), want)
	if v := mustVerify(t, place); len(v.Damage) > 0 || v.Rows == 0 {
		t.Errorf("%+v", v)
	}
	known := func(at string) bool { return IsDataSet(t.Context(), at) }
	if !known(place) || known("s3://bucket/sets/none") || CheckSizes(t.Context(), place) != nil {
		t.Error("it is not known as a data set")
	}
	set := must.Get(Open(t.Context(), place))(t)
	here := must.Get(Open(t.Context(), local))(t)
	defer here.Close()
	for _, split := range set.Manifest().Splits() {
		a, _ := set.Split(split)
		b, _ := here.Split(split)
		for i := range a.Len() {
			x, err := a.Image(t.Context(), i)
			y, _ := b.Image(t.Context(), i)
			if err != nil || !bytes.Equal(x, y) {
				t.Errorf("%s, row %d: error %v", split, i, err)
			}
		}
		for row, err := range a.Rows(t.Context(), true) {
			if err != nil || len(row.Image) == 0 {
				t.Errorf("%s: error %v", split, err)
			}
		}
	}
	// The same build again sends no shard and reads none.
	server.Log()
	again := mustBuild(t, richSource(t), place, rich())
	if again.Kept != len(r.Manifest.Files) {
		t.Errorf("%d of %d shards were kept", again.Kept, len(r.Manifest.Files))
	}
	for _, line := range server.Log() {
		if strings.HasPrefix(line, "PUT ") && shardNames().MatchString(strings.TrimPrefix(line, "PUT bucket/sets/one/")) {
			t.Errorf("%s: it was there", line)
		}
	}
	sameContents(t, objects(server), want)
}

func TestSlicesInAnObjectStore(t *testing.T) {
	server := fakes3.Start(t)
	local := t.TempDir()
	mustBuild(t, richSource(t), local, rich())
	if _, err := Finish(t.Context(), place, rich()); !errors.As(err, new(*MissingSlicesError)) {
		t.Errorf("error %v, want that there are no slices", err)
	}
	var slicesAtOnce sync.WaitGroup
	for _, n := range []int{1, 2, 3, 2} { // the second twice
		slicesAtOnce.Go(func() {
			if _, err := BuildSlice(t.Context(), richSource(t), place, n, 3, rich()); err != nil {
				t.Error(err)
			}
		})
	}
	slicesAtOnce.Wait()
	p := must.Get(Plan(t.Context(), richSource(t), place, rich()))(t)
	if missing, err := missingSlices(p, 3); err != nil || len(missing) > 0 {
		t.Errorf("missing %v, error %v", missing, err)
	}
	if _, err := Finish(t.Context(), place, rich()); err != nil {
		t.Fatal(err)
	}
	sameContents(t, objects(server), contents(t, local))
	if r, err := Finish(t.Context(), place, rich()); err != nil || !r.Before {
		t.Errorf("%+v, error %v", r, err)
	}
}

// The machine that finishes or opens a data set need not be one that built it, so its cache is empty.
func TestRequestsForManyShardsInAnObjectStore(t *testing.T) {
	server := fakes3.Start(t)
	o := with(small(), func(o *Options) { o.Settings = Settings{ImagesPerShard: 1} })
	const images = 60
	for n := range 2 {
		if _, err := BuildSlice(t.Context(), newSource(t, images), place, n+1, 2, o); err != nil {
			t.Fatal(err)
		}
	}
	forget := func() { must.Do(t, os.RemoveAll(os.Getenv(objectstore.CacheVariable))); server.Log() }
	// few counts the requests since the last look: at most each for a shard, and 40 for the whole, of which few are
	// a HEAD.
	few := func(what string, each int) {
		t.Helper()
		heads := 0
		log := server.Log()
		for _, line := range log {
			if strings.HasPrefix(line, "HEAD ") {
				heads++
			}
		}
		if heads > images/10 || len(log) > each*images+images*2/3 {
			t.Errorf("%s: %d requests, %d of them HEAD, for %d shards; want at most %d for each:\n%s", what, len(log), heads,
				images, each, strings.Join(log, "\n"))
		}
	}
	forget()
	p := must.Get(Plan(t.Context(), newSource(t, images), place, o))(t)
	if missing := must.Get(missingSlices(p, 2))(t); len(missing) > 0 {
		t.Errorf("missing %v", missing)
	}
	few("missing slices", 1)
	forget()
	r := must.Get(Finish(t.Context(), place, o))(t)
	log := server.Log()
	if of := len(r.Manifest.Files); of != images || len(log) > 2*of {
		t.Errorf("%d requests to finish %d shards, want at most 2 for each:\n%s", len(log), of, strings.Join(log, "\n"))
	}
	for _, cache := range []string{"empty", "full"} {
		if cache == "empty" {
			forget()
		}
		again := must.Get(Build(t.Context(), newSource(t, images), place, o))(t)
		if again.Kept != images {
			t.Errorf("%d of %d shards were kept", again.Kept, images)
		}
		few("the same build again, cache "+cache, map[string]int{"empty": 2, "full": 0}[cache])
	}
	forget()
	set := must.Get(Open(t.Context(), place))(t)
	for _, split := range set.Manifest().Splits() {
		v := must.Get(set.Split(split))(t)
		for i := range v.Len() {
			must.Get(v.Image(t.Context(), i))(t)
		}
	}
	for _, line := range server.Log() {
		if strings.HasPrefix(line, "HEAD ") {
			t.Errorf("%s: a list tells what it asks", line)
		}
	}
}

// Wherever finish ends, another one gives the bytes of a build. If the first had written the manifest and had begun to
// remove the parts, they are missing, and the data set is whole.
func TestFinishInAnObjectStoreMayEndAtAnyRequest(t *testing.T) {
	local := t.TempDir()
	mustBuild(t, richSource(t), local, rich())
	o := rich()
	o.Replace = true
	for last := 1; ; last += 9 {
		server := fakes3.Start(t)
		mustBuild(t, newSource(t, 30), place, small()) // so that shards wait beside it
		for n := range 2 {
			if _, err := BuildSlice(t.Context(), richSource(t), place, n+1, 2, o); err != nil {
				t.Fatal(err)
			}
		}
		count := 0
		server.SetFault(func(*http.Request, int) fakes3.Fault {
			if count++; count > last {
				return fakes3.Fault{Status: 403, Code: "AccessDenied"}
			}
			return fakes3.Fault{}
		})
		_, first := Finish(t.Context(), place, o)
		server.SetFault(nil)
		whole := server.Get("sets/one/"+ManifestFile) != nil && CheckSizes(t.Context(), place) == nil
		_, err := Finish(t.Context(), place, o)
		if missing := (*MissingSlicesError)(nil); err != nil && !(whole && errors.As(err, &missing)) {
			t.Errorf("after %d requests: %v, then %v", last, first, err)
		}
		got := objects(server)
		for name := range got {
			if err != nil && (strings.HasPrefix(name, partsFolder) || name == LockName) {
				delete(got, name)
			}
		}
		sameContents(t, got, contents(t, local))
		if first == nil || t.Failed() {
			return
		}
	}
}

// A shard or a sidecar that is replaced after the list is not taken for the one that the manifest states.
func TestAnObjectReplacedAfterTheListIsNoticed(t *testing.T) {
	server := fakes3.Start(t)
	mustBuild(t, newSource(t, 30), place, small())
	must.Do(t, os.RemoveAll(os.Getenv(objectstore.CacheVariable)))
	set := must.Get(Open(t.Context(), place))(t)
	file := set.Manifest().Files[0]
	v := must.Get(set.Split(file.Split))(t)
	key := "sets/one/" + file.Name
	shard := server.Get(key)
	shard[len(shard)-1] ^= 1 // not in an image, so its checksum would not tell
	server.Put(key, shard, true)
	var e *objectstore.Error
	if _, err := v.Image(t.Context(), 0); !errors.As(err, &e) || e.Kind != objectstore.Changed {
		t.Errorf("error %v, want that the shard was replaced", err)
	}
	key = "sets/one/" + indexName(file.Name)
	sidecar, swapped := server.Get(key), false
	must.Do(t, os.RemoveAll(os.Getenv(objectstore.CacheVariable)))
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		if strings.HasSuffix(r.URL.Path, key) && !swapped {
			swapped = true
			return fakes3.Fault{Flip: true}
		}
		return fakes3.Fault{}
	})
	if _, err := Open(t.Context(), place); err != nil || !swapped {
		t.Errorf("error %v, want that a wrong byte of the network is read again", err)
	}
	server.SetFault(nil)
	sidecar[len(sidecar)/2] ^= 1
	server.Put(key, sidecar, false)
	if _, err := Open(t.Context(), place); !errors.As(err, new(*DamageError)) {
		t.Errorf("error %v, want that the sidecar is damaged", err)
	}
}

// Every request fails once before it succeeds, in one of the ways that pass.
func TestABuildOverABadNetworkGivesTheSameBytes(t *testing.T) {
	local := t.TempDir()
	mustBuild(t, newSource(t, 30), local, small())
	server := fakes3.Start(t)
	kinds := []fakes3.Fault{{Status: 503, Code: "SlowDown"}, {Status: 500, Code: "InternalError"}, {Lost: true},
		{Cut: true, After: 40}, {Short: 1}}
	failed := map[string]bool{}
	server.SetFault(func(r *http.Request, n int) fakes3.Fault {
		request := r.Method + r.URL.String()
		if failed[request] = !failed[request]; failed[request] && n%3 == 0 { // a third, since each costs a tenth of a second
			return kinds[n/3%len(kinds)]
		}
		return fakes3.Fault{}
	})
	mustBuild(t, newSource(t, 30), place, small())
	if v := mustVerify(t, place); len(v.Damage) > 0 {
		t.Errorf("%v", v.Damage)
	}
	sameContents(t, objects(server), contents(t, local))
}

func TestABuildThatStopsBeforeTheManifestContinues(t *testing.T) {
	server := fakes3.Start(t)
	denied := func(r *http.Request, _ int) fakes3.Fault {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ManifestFile) {
			return fakes3.Fault{Status: 403, Code: "AccessDenied"}
		}
		return fakes3.Fault{}
	}
	server.SetFault(denied)
	_, err := Build(t.Context(), newSource(t, 30), place, small())
	var e *objectstore.Error
	if !errors.As(err, &e) || e.Kind != objectstore.Denied {
		t.Fatalf("error %v", err)
	}
	if _, err := Open(t.Context(), place); !errors.As(err, new(*UnfinishedError)) {
		t.Errorf("error %v, want that it is not finished", err)
	}
	server.SetFault(nil)
	r := mustBuild(t, newSource(t, 30), place, small())
	if r.Kept != len(r.Manifest.Files) {
		t.Errorf("%d of %d shards were kept", r.Kept, len(r.Manifest.Files))
	}
	local := t.TempDir()
	mustBuild(t, newSource(t, 30), local, small())
	sameContents(t, objects(server), contents(t, local))
}

// TestKilledBuildsInAnObjectStore kills rebuilds that change all shards. At any moment the place must
// hold the complete data set of one of the two builds, or none.
func TestKilledBuildsInAnObjectStore(t *testing.T) {
	build := func(round string) {
		o := small()
		o.ShortSide = 10 + int(round[len(round)-1])%8
		mustBuild(t, newSource(t, 60), place, o)
	}
	if round := os.Getenv("HGLD_BUILD_CHILD"); round != "" {
		build(round)
		return
	}
	server := fakes3.Start(t)
	start := time.Now()
	build("first")
	whole := time.Since(start)
	rng := rand.New(rand.NewPCG(13, 14))
	for i := range times(t, "HGLD_KILLS", 2) {
		killed(t, time.Duration(rng.Int64N(int64(2*whole))), fmt.Sprintf("HGLD_BUILD_CHILD=%d", i))
		if _, err := ReadManifest(t.Context(), place); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if v := mustVerify(t, place); len(v.Damage) > 0 {
			t.Fatalf("kill %d: %v", i, v.Damage)
		}
	}
	build("last")
	o := small()
	o.ShortSide = 10 + int('t')%8
	local := t.TempDir()
	mustBuild(t, newSource(t, 60), local, o)
	sameContents(t, objects(server), contents(t, local))
	if server.Uploads() != 0 {
		t.Errorf("%d uploads are left", server.Uploads())
	}
}

func TestDamageInAnObjectStoreIsFoundAndRepaired(t *testing.T) {
	server := fakes3.Start(t)
	m := mustBuild(t, newSource(t, 30), place, small()).Manifest
	// The cache has the files as they were. Verify does not ask it.
	if _, err := Open(t.Context(), place); err != nil {
		t.Fatal(err)
	}
	flip := func(name string, keep bool) {
		data := server.Get("sets/one/" + name)
		data[len(data)/2] ^= 1
		server.Put("sets/one/"+name, data, keep)
	}
	shard, sidecar := m.Files[0].Name, indexName(m.Files[1].Name)
	flip(shard, true)
	flip(sidecar, false)
	flip(StatsFile, true)
	var found []string
	for _, d := range mustVerify(t, place).Damage {
		if !slices.Contains(found, d.File) {
			found = append(found, d.File)
		}
	}
	if want := []string{StatsFile, shard, sidecar}; !slices.Equal(found, want) {
		t.Errorf("damage in %q, want %q", found, want)
	}
	flip(shard, true)
	if _, err := Repair(t.Context(), place, listClasses, sidecar, StatsFile); err != nil {
		t.Fatal(err)
	}
	if v := mustVerify(t, place); len(v.Damage) > 0 {
		t.Errorf("%v", v.Damage)
	}
	// A store that fails for the moment is no damage.
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		if strings.HasSuffix(r.URL.Path, shard) {
			return fakes3.Fault{Status: 503, Code: "SlowDown"}
		}
		return fakes3.Fault{}
	})
	_, err := Verify(t.Context(), place, VerifyOptions{})
	var e *objectstore.Error
	if !errors.As(err, &e) || e.Kind != objectstore.Temporary {
		t.Errorf("error %v, want that the store fails", err)
	}
}

func TestAWrongByteFromTheNetworkIsReadAgain(t *testing.T) {
	server := fakes3.Start(t)
	mustBuild(t, newSource(t, 30), place, small())
	os.RemoveAll(filepath.Join(os.Getenv(objectstore.CacheVariable))) // what the build has read
	set := must.Get(Open(t.Context(), place))(t)
	wrong := 0
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".parquet") && wrong == 0 {
			wrong++
			return fakes3.Fault{Flip: true}
		}
		return fakes3.Fault{}
	})
	v := must.Get(set.Split(set.Manifest().Splits()[0]))(t)
	for i := range v.Len() {
		if _, err := v.Image(t.Context(), i); err != nil {
			t.Errorf("row %d: %v", i, err)
		}
	}
	if wrong == 0 {
		t.Error("nothing was read")
	}
}

func TestOnlyOneOfTwoDataSetsGetsTheManifest(t *testing.T) {
	server := fakes3.Start(t)
	dir := must.Get(folderAt(t.Context(), place))(t)
	for range 2 { // the second time as after a lost answer
		if err := dir.writeNew(ManifestFile, []byte("one")); err != nil {
			t.Error(err)
		}
	}
	if err := dir.writeNew(ManifestFile, []byte("two")); !errors.As(err, new(*ConcurrentBuildError)) {
		t.Errorf("error %v, want that another process was faster", err)
	}
	if got := objects(server)[ManifestFile]; got != "one" {
		t.Errorf("%q was overwritten", got)
	}
}
