package ranks

import (
	"bytes"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/internal/ranks/launch"
	"hgld/internal/ranks/nccl"
	"hgld/internal/usage"
)

func TestPatienceIsATime(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 10 * time.Minute, "90s": 90 * time.Second, "0": 0, "soon": 0} {
		t.Setenv(PatienceVariable, text)
		got, err := Patience()
		if got != want || (want == 0) != errors.As(err, new(*usage.Error)) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestProcessesShareTheirProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(8)
	defer runtime.GOMAXPROCS(before)
	p := New(&launch.Place{Rank: 1, Ranks: 4}, Program{})
	a, b := machine{"a", "0-7"}, machine{"b", "0-7"}
	p.shareProcessors([]machine{a, a, b, {"a", "8-15"}})
	if n := runtime.GOMAXPROCS(0); n != 4 {
		t.Errorf("%d threads, want 4: two processes may use the same 8 processors", n)
	}
	t.Setenv("GOMAXPROCS", "3")
	p.shareProcessors([]machine{a, a, b, b})
	if n := runtime.GOMAXPROCS(0); n != 4 {
		t.Errorf("%d threads, though GOMAXPROCS is set", n)
	}
}

// Processes of one machine do not open a port to the network.
func TestRankZeroListensWhereTheOthersAre(t *testing.T) {
	l, invite := listen([]machine{{Host: "a"}, {Host: "a"}})
	if l == nil || !l.Addr().(*net.TCPAddr).IP.IsLoopback() || len(invite.Addresses) != 1 || len(invite.Token) != 32 {
		t.Fatalf("%v, %v", l, invite)
	}
	l.Close()
	l, invite = listen([]machine{{Host: "a"}, {Host: "b"}})
	if l == nil || l.Addr().(*net.TCPAddr).IP.IsLoopback() ||
		!strings.HasPrefix(invite.Addresses[len(invite.Addresses)-1], "a:") {
		t.Fatalf("%v, %v", l, invite)
	}
	l.Close()
}

func TestProcessesMeetByAddressWithASecret(t *testing.T) {
	for address, want := range map[string][2]bool{"": {false, false}, "127.0.0.1:1": {true, true},
		"localhost:1": {true, true}, "node1:1": {false, true}} {
		p := New(&launch.Place{Address: address}, Program{})
		for i, token := range []string{"", "secret"} {
			t.Setenv(TokenVariable, token)
			if got := p.meetsByAddress(); got != want[i] {
				t.Errorf("address %q, secret %q: %v", address, token, got)
			}
		}
	}
}

// torchrun starts no MPI, of which an error would lead astray.
func TestASecretThatIsMissingIsNamed(t *testing.T) {
	t.Setenv(TokenVariable, "")
	p := New(&launch.Place{Rank: 1, Ranks: 2, Address: "node1:1", Launcher: "torchrun"}, Program{})
	if _, err := p.Meet(t.Context(), Note{}); err == nil || !strings.Contains(err.Error(), "set "+TokenVariable) {
		t.Errorf("%v", err)
	}
}

// Two jobs that take the same port by mistake do not mix.
func TestProcessesOfAnotherJobAreNotLetIn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	process := func(rank int, work string) *Process {
		p := New(&launch.Place{Rank: rank, Ranks: 2, Address: address, Launcher: "torchrun"}, Program{Version: "1"})
		p.Work = work
		return p
	}
	zero, one := process(0, "embed-images a.npy"), process(1, "embed-images a.npy")
	other := process(1, "embed-images b.npy")
	met := make(chan error, 1)
	go func() {
		_, err := zero.Meet(t.Context(), Note{})
		met <- err
	}()
	if _, err := other.Meet(t.Context(), Note{}); !errors.As(err, new(*usage.Error)) ||
		!strings.Contains(err.Error(), "another job than rank 0 there: embed-images b.npy, not embed-images a.npy") {
		t.Errorf("%v", err)
	}
	_, err = one.Meet(t.Context(), Note{})
	if err = errors.Join(err, <-met); err != nil {
		t.Error(err)
	}
}

func TestGroupHasOneVersionOfNCCL(t *testing.T) {
	id := make([]byte, len(nccl.ID{}))
	id[0] = 7
	notes := []Note{{NCCL: 22707, ID: id}, {NCCL: 22707}}
	if got, differences, err := GroupID(notes); got[0] != 7 || len(differences) > 0 || err != nil {
		t.Errorf("%v, %v, %v", got[0], differences, err)
	}
	notes[1] = Note{NCCL: 22603, Machine: machine{Host: "b"}}
	want := []string{"rank 1 (b) has NCCL 2.26.3, rank 0 has 2.27.7"}
	if _, differences, err := GroupID(notes); !slices.Equal(differences, want) || err != nil {
		t.Errorf("%q, %v; want %q", differences, err, want)
	}
	if _, _, err := GroupID([]Note{{NCCL: 22707}}); err == nil {
		t.Error("no error without an ID")
	}
}

// A process that hears of another's end reports that in place of the consequence, and alone names its rank.
func TestLeaveReportsTheCause(t *testing.T) {
	consequence, gone := errors.New("a call failed"), errors.New("rank 2 is gone")
	program := Program{Complete: func(err error) bool { return err == nil },
		Unexplained: func(err error) bool { return err == consequence }}
	p := New(&launch.Place{Rank: 1, Ranks: 3}, program)
	if err := p.Leave(consequence); !errors.Is(err, consequence) || !strings.HasPrefix(err.Error(), "rank 1: ") {
		t.Errorf("%v", err)
	}
	p.lost = gone
	if err := p.Leave(consequence); !errors.Is(err, gone) {
		t.Errorf("%v, want %v", err, gone)
	}
	if err := (*Process)(nil).Leave(consequence); err != consequence {
		t.Errorf("a process alone: %v", err)
	}
	p.Note(consequence)
	if !p.Failed {
		t.Error("a failure was not noted")
	}
}

func TestLastWordsAreTheEnd(t *testing.T) {
	w := &lastWords{}
	for range 3 {
		w.Write(bytes.Repeat([]byte("x"), mostWords-1))
	}
	w.Write([]byte("end"))
	if len(w.text) != mostWords || !bytes.HasSuffix(w.text, []byte("xend")) {
		t.Errorf("%d bytes, ending in %q", len(w.text), w.text[len(w.text)-4:])
	}
}
