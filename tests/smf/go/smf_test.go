package smf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// step does something with all sessions at once, and says how long it took.
func (w *World) step(name string, sessions []*Session, do func(*Session) error) time.Duration {
	w.t.Helper()
	start, errors := time.Now(), make([]string, len(sessions))
	var group sync.WaitGroup
	for index, session := range sessions {
		group.Go(func() {
			if err := do(session); err != nil {
				errors[index] = "\n    " + session.supi + ": " + err.Error()
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	w.t.Logf("%-28s %8.1f ms", name, float64(took.Microseconds())/1000)
	if all := strings.Join(errors, ""); all != "" {
		w.t.Fatalf("%s:%s\nlogs and configuration: %s", name, all, w.output())
	}
	return took
}

// within fails the test where a step took longer.
func (w *World) within(limit time.Duration, name string, sessions []*Session, do func(*Session) error) {
	w.t.Helper()
	if took := w.step(name, sessions, do); took > limit {
		w.t.Errorf("%s took %v, more than %v", name, took, limit)
	}
}

func (w *World) sessions(number int, kind byte) []*Session {
	sessions := make([]*Session, number)
	for index := range sessions {
		sessions[index] = w.session(index+1, kind)
	}
	return sessions
}

// connect brings sessions up until packets pass both ways.
func (w *World) connect(sessions []*Session) {
	w.t.Helper()
	w.within(5*soon, "create", sessions, (*Session).create)
	w.within(2*soon, "N2 setup", sessions, func(s *Session) error { return s.setUp(w.gnbs[0]) })
	w.within(soon, "dedicated QoS flow", sessions, (*Session).flow)
	w.within(soon, "router advertisement", sessions, (*Session).prefix)
	w.within(soon, "ping", sessions, func(s *Session) error { return s.ping(soon) })
	w.within(soon, "downlink", sessions, func(s *Session) error {
		if err := s.downlink("hello"); err != nil {
			return err
		}
		return s.arrives("hello")
	})
	w.within(soon, "QFIs", sessions, (*Session).flows)
	w.within(soon, "volume", sessions, (*Session).volume)
}

// Input:  sessions are created, the gNB answers, packets go both ways; the UE sleeps and packets for it come; it wakes;
//
//	another gNB takes it over; it sleeps and wakes again; the sessions are released.
//
// Output: each packet arrives; the SMF pages within a second of the first packet for a sleeping UE; packets that waited come in
//
//	order; the old gNB gets an End Marker; nothing is left in the UPF.
func (w *World) phases(sessions []*Session) {
	w.connect(sessions)
	for round, gnb := range []*Gnb{w.gnbs[0], w.gnbs[1]} {
		w.within(2*soon, "AN release", sessions, (*Session).idle)
		w.page(sessions, gnb, fmt.Sprint("round ", round))
		if round == 0 {
			w.within(2*soon, "path switch", sessions, func(s *Session) error {
				before := s.queue
				if err := s.handover(w.gnbs[1]); err != nil {
					return err
				}
				_, err := s.received(before, soon, "an End Marker", func(r Received) bool { return r.EndMarker })
				return err
			})
		}
		w.within(soon, "ping", sessions, func(s *Session) error { return s.ping(soon) })
		w.within(soon, "QFIs", sessions, (*Session).flows)
	}
	w.within(2*soon, "release", sessions, (*Session).release)
	w.wait(soon, "no session is left", func() bool { return w.value("pfcp_sessions") == 0 })
}

// page sends packets for sleeping UEs, which wake at a gNB.
func (w *World) page(sessions []*Session, gnb *Gnb, payload string) {
	w.t.Helper()
	w.within(soon, "paging", sessions, func(s *Session) error {
		for number := range 3 {
			if err := s.downlink(fmt.Sprint(payload, number)); err != nil {
				return err
			}
		}
		_, err := s.transfer(soon)
		return err
	})
	w.within(2*soon, "service request", sessions, func(s *Session) error { return s.wake(gnb) })
	w.within(soon, "what waited", sessions, func(s *Session) error {
		for number := range 3 {
			if err := s.arrives(fmt.Sprint(payload, number)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Input:  a session of a UE that sleeps for longer than the period of its usage reports (free5GC: 10 s), then a packet for it.
// Output: it is paged within a second; the release gets an answer.
func TestLongSleep(t *testing.T) {
	w := newWorld(t, Options{})
	sessions := w.sessions(1, IPv4)
	w.connect(sessions)
	w.within(2*soon, "AN release", sessions, (*Session).idle)
	time.Sleep(11 * time.Second)
	w.page(sessions, w.gnbs[1], "late")
	w.within(2*soon, "release", sessions, (*Session).release)
	w.wait(soon, "no session is left", func() bool { return w.value("pfcp_sessions") == 0 })
}

// Input:  a session, and the commands of the guide about the SMF in docs/guides.
// Output: what the guide shows.
func TestGuide(t *testing.T) {
	root := os.Getenv("CAUSEWAY_ROOT")
	if root == "" {
		t.Skip("no guides: run tests/smf/run")
	}
	w := newWorld(t, Options{})
	sessions := w.sessions(1, IPv4)
	w.connect(sessions)
	bin := t.TempDir()
	w.must(os.Symlink(os.Getenv("CAUSEWAY_BINARY"), filepath.Join(bin, "causeway")), "a link to the binary")
	// What the guide writes to /etc is in memory.
	inside := `mount -t tmpfs tmpfs /mnt; mkdir /mnt/upper /mnt/work
		mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
		exec python3 -B "$0/tests/guides/guide.py" "$0/docs/guides/$1.md"`
	guide := exec.Command("unshare", "--mount", "sh", "-ec", inside, root, product())
	guide.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CAUSEWAY_MANAGEMENT=127.0.0.7:9098", "NO_COLOR=1", "COLUMNS=140")
	printed, err := guide.CombinedOutput()
	t.Logf("%s", printed)
	w.must(err, "the guide")
	w.within(2*soon, "release", sessions, (*Session).release)
}

func TestPhases(t *testing.T) {
	kinds := map[string]byte{"ipv4": IPv4}
	if product() == "open5gs" {
		kinds["ipv6"], kinds["ipv4v6"] = IPv6, IPv4v6
	}
	for name, kind := range kinds {
		for _, number := range []int{1, 20} {
			t.Run(fmt.Sprintf("%s-%d", name, number), func(t *testing.T) {
				w := newWorld(t, Options{})
				w.phases(w.sessions(number, kind))
			})
		}
	}
}

// Input:  the PCF has a PCC rule, with a guaranteed rate or with a maximum rate alone, and there is a CHF or not.
// Output: as above; the flow of the rule has a QFI of its own; where there is a CHF, it is told of each session from its beginning to
//
//	its end.
func TestPolicies(t *testing.T) {
	for name, rule := range map[string]*Rule{"none": nil, "gbr": {FiveQI: 1, MBR: "20 Mbps", GBR: "10 Mbps"}, "mbr": {FiveQI: 8, MBR: "20 Mbps"}} {
		for _, charging := range []bool{false, true} {
			if rule == nil && !charging {
				continue
			}
			t.Run(fmt.Sprintf("rule-%s-charging-%v", name, charging), func(t *testing.T) {
				w := newWorld(t, Options{Policy: Policy{Rule: rule, Charging: charging}})
				w.phases(w.sessions(3, IPv4))
				if charging && product() == "free5gc" {
					t.Logf("charged: %v", w.core.charged)
					same(t, w.core.charged["create"], 3)
					same(t, w.core.charged["release"], 3)
				}
			})
		}
	}
}

// Input:  sessions of UEs, one of which sleeps; the UPF is killed (kill -9) and started again at once.
// Output: Open5GS brings all sessions up again on the same tunnels: at its next heartbeat, or within a second where the UPF has it
//
//	in client.smf; the sleeping UE is paged for its next packet. free5GC releases the sessions at its next heartbeat, and new
//	ones come up. In both nothing is left after the releases.
func TestRestart(t *testing.T) {
	for _, client := range []bool{false, true} {
		t.Run(fmt.Sprintf("client-smf-%v", client), func(t *testing.T) {
			w := newWorld(t, Options{ClientSMF: client})
			sessions := w.sessions(5, IPv4)
			w.connect(sessions)
			awake, asleep := sessions[1:], sessions[:1]
			if product() == "open5gs" {
				w.within(soon, "AN release", asleep, (*Session).idle)
			}
			w.nextSecond()
			killed := time.Now()
			w.upf.signal(syscall.SIGKILL)
			w.startUPF()
			t.Logf("the UPF is back after %v", time.Since(killed))
			switch {
			case product() == "free5gc":
				w.within(6*time.Second, "released by the SMF", sessions, (*Session).released)
				w.connect(sessions)
			case client:
				w.within(soon, "restored", awake, func(s *Session) error { return s.again(soon) })
				w.page(asleep, w.gnbs[1], "restart")
			default:
				w.within(12*time.Second, "restored", awake, func(s *Session) error { return s.again(12 * time.Second) })
				w.page(asleep, w.gnbs[1], "restart")
			}
			w.within(2*soon, "release", sessions, (*Session).release)
			w.wait(soon, "no session is left", func() bool { return w.value("pfcp_sessions") == 0 })
		})
	}
}

// Input:  the UPF, which has the SMF in client.smf, is killed and started again; the AMF releases the sessions at once; then the same
//
//	UEs ask for sessions again.
//
// Output: Open5GS has restored the sessions by then, and releases them. free5GC does not know yet, gets cause 72 (no association),
//
//	and tells the AMF so (500), but forgets the sessions; it associates again at its next heartbeat. New sessions come up, and
//	nothing is left of any.
func TestReleaseAfterRestart(t *testing.T) {
	w := newWorld(t, Options{ClientSMF: true})
	sessions := w.sessions(2, IPv4)
	w.connect(sessions)
	w.nextSecond()
	w.upf.signal(syscall.SIGKILL)
	w.startUPF()
	if product() == "open5gs" {
		w.within(soon, "restored", sessions, func(s *Session) error { return s.again(soon) })
	}
	w.within(soon, "release", sessions, func(s *Session) error {
		err := s.release()
		if refused := err != nil && strings.Contains(err.Error(), "HTTP 500"); refused && product() == "free5gc" {
			return nil
		}
		return err
	})
	w.associated(6 * time.Second)
	w.wait(soon, "no session is left", func() bool { return w.value("pfcp_sessions") == 0 })
	again := w.sessions(2, IPv4)
	w.connect(again)
	w.within(2*soon, "release", again, (*Session).release)
	w.wait(soon, "no session is left", func() bool { return w.value("pfcp_sessions") == 0 })
}

// nextSecond waits until the UPF has a later Recovery Time Stamp when it starts again: the stamp counts seconds.
func (w *World) nextSecond() {
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
}
