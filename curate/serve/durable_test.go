package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hgld/curate"
	"hgld/internal/testing/must"
)

// times is a number of repetitions, from the environment if it is set there.
func times(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n := must.Get(strconv.Atoi(text))(t)
	return n
}

// randomOrder is an edit of a random kind, which may be impossible.
func randomOrder(r *rand.Rand, version int, id string) order {
	group := func() string { return fmt.Sprintf("group %d", r.IntN(9)) }
	o := move(version, id, group(), r.IntN(60))
	switch r.IntN(18) {
	case 0:
		o.Op, o.To, o.Note = curate.Drop, "", "why"
	case 1:
		o.Op, o.To, o.Note = curate.Flag, "", "look"
	case 2:
		o.Op, o.To, o.Note = curate.Note, "", id
	case 3:
		o.Op, o.Level, o.From, o.To = curate.SetParent, 1, []curate.Ref{{Name: group()}}, "natural"
	case 4:
		o.Op, o.Level, o.From = curate.Rename, 1, []curate.Ref{{Name: group()}}
	case 5:
		o.Op, o.Level, o.From = curate.Merge, 1, []curate.Ref{{Name: group()}}
	case 8, 9, 10:
		o.Op, o.Parts, o.From, o.To = curate.Propose, []curate.Part{{To: o.To, Members: o.From}}, nil, ""
	case 11:
		o.Op, o.Parts, o.From, o.To = curate.Confirm, []curate.Part{{To: o.To, Members: o.From}}, nil, ""
	case 12:
		o.Op, o.To = curate.Withdraw, ""
	case 6, 7:
		o = order{ID: o.ID, Base: version, Op: curate.Revert, Of: 1 + r.IntN(version+1)}
	}
	return o
}

// In TestConcurrentEditsLoseNothing two pages make random edits at once, 2 × 150 or $HGLD_EDITS of
// them. Each is saved, rejected as stale with the newer state, or rejected as impossible. The state
// equals the replay of the log.
func TestConcurrentEditsLoseNothing(t *testing.T) {
	s, a, path := newServer(t, testDraft(60), nil)
	n := times(t, "HGLD_EDITS", 150)
	var wait sync.WaitGroup
	made, stale, impossible := [2]int{}, [2]int{}, [2]int{}
	acknowledged := [2]map[string]int{{}, {}}
	for page := range 2 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			r := rand.New(rand.NewPCG(uint64(page), 1))
			version := 0
			for made[page] < n {
				o := randomOrder(r, version, fmt.Sprintf("%d-%d-%d-%d", page, made[page], stale[page], impossible[page]))
				body, err := json.Marshal(o)
				if err != nil {
					t.Error(err)
					return
				}
				resp, text, err := a.try("POST", "/api/edit", string(body), nil)
				var got answer
				if err = errors.Join(err, json.Unmarshal([]byte(text), &got)); err != nil {
					t.Errorf("%q: %v", text, err)
					return
				}
				switch resp.StatusCode {
				case http.StatusOK:
					made[page]++
					acknowledged[page][o.ID] = got.Seq
				case http.StatusConflict:
					stale[page]++
				case http.StatusUnprocessableEntity:
					impossible[page]++
				default:
					t.Errorf("%s %s", resp.Status, text)
					return
				}
				version = got.Version
			}
		}()
	}
	wait.Wait()
	c, err := curate.ReadLog(path)
	if err != nil || len(c.Edits) != 2*n {
		t.Fatalf("%d edits on disk, want %d: %v", len(c.Edits), 2*n, err)
	}
	for page := range 2 {
		for id, seq := range acknowledged[page] {
			if editID(c.Edits[seq-1]) != id {
				t.Fatalf("edit %d is not %s", seq, id)
			}
		}
	}
	checkReplay(t, s, c.Edits)
	t.Logf("2 × %d edits saved, %d refused as stale, %d as impossible", n, stale[0]+stale[1], impossible[0]+impossible[1])
}

// checkReplay compares the server's state with that of the log.
func checkReplay(t *testing.T, s *Server, edits []curate.Edit) {
	t.Helper()
	again := must.Get(curate.NewSession(s.session.Draft(), nil))(t)
	if _, err := again.Load(edits); err != nil {
		t.Fatal(err)
	}
	for level := range 3 {
		if again.Size(level) != s.session.Size(level) {
			t.Fatalf("level %d has %d places, the replay %d", level, s.session.Size(level), again.Size(level))
		}
		for i := range again.Size(level) {
			if a, b := s.session.Node(level, i), again.Node(level, i); !reflect.DeepEqual(a, b) {
				t.Fatalf("level %d, place %d: %+v, the replay has %+v", level, i, a, b)
			}
		}
	}
}

// TestMain lets the test binary act as the server that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("CURATE_TEST_SERVE"); path != "" {
		if err := serveForever(path); err != nil {
			fmt.Println(err)
		}
		return
	}
	os.Exit(m.Run())
}

// serveForever serves a log on a free port. It prints the port and the link's key.
func serveForever(path string) error {
	log, contents, err := curate.OpenLog(path)
	if err != nil {
		return err
	}
	session, err := curate.NewSession(testDraft(30), nil)
	if err != nil {
		return err
	}
	if _, err := session.Load(contents.Edits); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := New(Config{Session: session, Save: log.Append, By: "anna", Hosts: []string{testPort}, Queue: "log"})
	if err != nil {
		return err
	}
	fmt.Println(l.Addr(), s.Key(), s.draft)
	return http.Serve(l, s.Handler())
}

// TestKilledServerLosesNoAcknowledgedEdit kills a server at random moments, 8 or $HGLD_KILLS times.
// The page sends unacknowledged edits again, and each is applied once.
func TestKilledServerLosesNoAcknowledgedEdit(t *testing.T) {
	kills := times(t, "HGLD_KILLS", 8)
	up, cancel := context.WithTimeout(t.Context(), time.Duration(kills)*time.Minute) // a server that does not come up
	defer cancel()
	path := filepath.Join(t.TempDir(), "edits.jsonl")
	must.Do(t, curate.CreateLog(path, curate.Header{By: "anna", DraftSHA256: "ab"}))
	sent, version := 0, 0
	for kill := range kills {
		cmd := exec.CommandContext(up, os.Args[0])
		cmd.Env = append(os.Environ(), "CURATE_TEST_SERVE="+path)
		out := must.Get(cmd.StdoutPipe())(t)
		must.Do(t, cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		words := strings.Fields(line)
		if err != nil || len(words) != 3 {
			t.Fatalf("kill %d: %s %v", kill, line, err)
		}
		address, key, draft := words[0], words[1], words[2]
		var p pass
		if code := sendTo(t, address, openPath, fmt.Sprintf(`{"key":%q}`, key), "", &p); code != http.StatusOK {
			t.Fatalf("kill %d: the link gives %d", kill, code)
		}
		killed := make(chan struct{})
		edits := 2 + kill%5
		for n := 0; ; n++ {
			if n == edits { // the next request meets the kill at any moment
				go func() {
					cmd.Process.Kill()
					close(killed)
				}()
			}
			v, ok := sendEdit(t, address, p.Token, draft, version, sent)
			if !ok {
				break
			}
			version, sent = v, sent+1
		}
		<-killed
		cmd.Wait() // killed: that is the point
	}
	c, err := curate.ReadLog(path)
	if err != nil || len(c.Edits) < sent || len(c.Edits) > sent+1 {
		t.Fatalf("%d edits on disk of %d acknowledged and at most one more: %v", len(c.Edits), sent, err)
	}
	for i, e := range c.Edits {
		if editID(e) != fmt.Sprintf("kill-edit-%d", i) {
			t.Fatalf("edit %d is %s: one was lost or made twice", i+1, editID(e))
		}
	}
	t.Logf("%d kills, %d edits acknowledged and %d on disk", kills, sent, len(c.Edits))
}

// killedOrder is edit n of a curation that is killed: moves in turn with a proposal that is
// confirmed, opened again and withdrawn.
func killedOrder(version, n int) order {
	if n%5 == 0 {
		return move(version, "", "group", n/5%15)
	}
	o := move(version, "", "", 15+n/5%15)
	switch n % 5 {
	case 1:
		o.Op, o.Parts, o.From = curate.Propose, []curate.Part{{To: "likely", Members: o.From}}, nil
	case 2:
		o.Op, o.Parts, o.From = curate.Confirm, []curate.Part{{To: "likely", Members: o.From}}, nil
	case 3:
		o.Op, o.Of, o.From = curate.Revert, n, nil // the edit before
	case 4:
		o.Op = curate.Withdraw
	}
	return o
}

// sendEdit sends an edit to a server that may be killed meanwhile.
func sendEdit(t *testing.T, address, token, draft string, version, n int) (int, bool) {
	t.Helper()
	o := killedOrder(version, n)
	o.Draft = draft
	body := must.Get(json.Marshal(o))(t)
	text := strings.Replace(string(body), `"id":"test-id-"`, fmt.Sprintf(`"id":"kill-edit-%d"`, n), 1)
	var got answer
	switch code := sendTo(t, address, "/api/edit", text, token, &got); code {
	case http.StatusOK:
		return got.Version, true
	case 0:
		return 0, false
	default:
		t.Fatalf("%d: %s", code, got.Error)
		return 0, false
	}
}

// sendTo posts to a server as the page does; 0 is no answer.
func sendTo(t *testing.T, address, path, body, token string, v any) int {
	t.Helper()
	r := must.Get(http.NewRequest("POST", "http://"+address+path, strings.NewReader(body)))(t)
	r.Host = testPort
	r.Header.Set(TokenHeader, token)
	r.Header.Set("Origin", "http://"+testPort)
	r.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
		return 0
	}
	return resp.StatusCode
}
