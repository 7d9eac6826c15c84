package smf

import (
	"bufio"
	"embed"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

//go:embed config
var configs embed.FS

// Options say what is particular about a run.
type Options struct {
	Policy    Policy
	ClientSMF bool // the UPF has the SMF in client.smf, and associates by itself
}

// World is an SMF, a UPF, two gNBs, a data network, and the rest of a core network.
type World struct {
	t        *testing.T
	core     *Core
	gnbs     [2]*Gnb
	smf, upf *Daemon
	network  map[netip.AddrPort]*net.UDPConn // sockets in the data network
	options  Options
	client   *http.Client
}

// product is the SMF under test: open5gs or free5gc.
func product() string { return os.Getenv("CAUSEWAY_SMF") }

func smfCommand() string {
	return os.Getenv(map[string]string{"open5gs": "CAUSEWAY_OPEN5GS_SMFD", "free5gc": "CAUSEWAY_FREE5GC_SMF"}[product()])
}

// newWorld starts everything and waits until SMF and UPF are associated.
func newWorld(t *testing.T, options Options) *World {
	if smfCommand() == "" {
		t.Skip("no SMF: run tests/smf/run")
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	w := &World{t: t, client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{Protocols: protocols}}, network: map[netip.AddrPort]*net.UDPConn{}, options: options}
	var err error
	w.core, err = newCore(options.Policy)
	w.must(err, "the emulated core network")
	t.Cleanup(func() { _ = w.core.server.Close(); w.client.CloseIdleConnections() })
	for index, address := range []string{"127.0.0.11", "127.0.0.12"} {
		w.gnbs[index], err = newGnb(address)
		w.must(err, "a gNB")
		t.Cleanup(func() { _ = w.gnbs[index].socket.Close() })
	}
	for _, address := range []string{dataNetwork4, dataNetwork6} {
		for _, port := range []uint16{plainPort, rulePort} {
			at := netip.AddrPortFrom(netip.MustParseAddr(address), port)
			w.network[at], err = inNetwork(func() (*net.UDPConn, error) { return net.ListenUDP("udp", net.UDPAddrFromAddrPort(at)) })
			w.must(err, "the data network")
			t.Cleanup(func() { _ = w.network[at].Close() })
		}
	}
	client := ""
	if options.ClientSMF {
		client = "client: {smf: [{address: 127.0.0.4}]}"
	}
	w.upf = w.daemon("upf", os.Getenv("CAUSEWAY_BINARY"), "run", "--config", w.config("upf.yaml", "# client", client))
	w.startUPF()
	if product() == "open5gs" {
		w.smf = w.daemon("smf", smfCommand(), "-c", w.config("open5gs.yaml"))
	} else {
		w.smf = w.daemon("smf", smfCommand(), "-c", w.config("free5gc.yaml"), "-u", w.config("free5gc-routing.yaml"))
	}
	w.smf.start()
	select {
	case <-w.core.registered:
	case <-time.After(20 * time.Second):
		t.Fatalf("the SMF does not register within 20 s: %s", w.smf.log)
	}
	w.associated(20 * time.Second)
	return w
}

// inNetwork opens a socket in the data network's namespace, by a thread that ends with it.
func inNetwork(open func() (*net.UDPConn, error)) (socket *net.UDPConn, err error) {
	setns := map[string]uintptr{"amd64": 308, "arm64": 268}[runtime.GOARCH]
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		var namespace *os.File
		if namespace, err = os.Open(os.Getenv("CAUSEWAY_SMF_NETWORK")); err != nil {
			return
		}
		defer namespace.Close()
		if _, _, errno := syscall.Syscall(setns, namespace.Fd(), syscall.CLONE_NEWNET, 0); errno != 0 {
			err = errno
			return
		}
		socket, err = open()
	}()
	<-done
	return socket, err
}

func (w *World) must(err error, what string) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

// output is a folder for what a test leaves.
func (w *World) output() string {
	folder := filepath.Join(os.Getenv("CAUSEWAY_SMF_OUT"), product(), strings.ReplaceAll(w.t.Name(), "/", "-"))
	w.must(os.MkdirAll(folder, 0o755), "a folder for logs")
	return folder
}

// config writes a configuration, with a text replaced, and gives its path.
func (w *World) config(name string, replace ...string) string {
	octets, err := configs.ReadFile("config/" + name)
	w.must(err, "a configuration")
	path := filepath.Join(w.output(), name)
	w.must(os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(string(octets))), 0o644), "a configuration")
	return path
}

// Daemon is a program that runs while a test does.
type Daemon struct {
	world   *World
	log     string
	command []string
	process *exec.Cmd
	ended   chan struct{}
}

func (w *World) daemon(name string, command ...string) *Daemon {
	d := &Daemon{world: w, log: filepath.Join(w.output(), name+".log"), command: command}
	_ = os.Remove(d.log)
	w.t.Cleanup(d.stop)
	return d
}

func (d *Daemon) start() {
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	d.world.must(err, "a log")
	defer log.Close()
	process := exec.Command(d.command[0], d.command[1:]...)
	process.Stdout, process.Stderr = log, log
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	d.world.must(process.Start(), d.command[0])
	ended := make(chan struct{})
	go func() { _ = process.Wait(); close(ended) }()
	d.process, d.ended = process, ended
}

func (d *Daemon) signal(signal syscall.Signal) {
	_ = d.process.Process.Signal(signal)
	select {
	case <-d.ended:
	case <-time.After(10 * time.Second):
		_ = d.process.Process.Kill()
		<-d.ended
		d.world.t.Errorf("%s does not end within 10 s of signal %d", d.command[0], signal)
	}
}

func (d *Daemon) stop() {
	if d.process == nil {
		return
	}
	select {
	case <-d.ended:
		d.world.t.Errorf("%s ended before the test did: %s", d.command[0], d.log)
	default:
		d.signal(syscall.SIGTERM)
	}
}

// startUPF starts the UPF and waits until it listens on N4 and serves metrics.
func (w *World) startUPF() {
	w.upf.start()
	w.wait(10*time.Second, "the UPF listens", func() bool { _, err := w.metric("pfcp_sessions"); return err == nil })
}

// wait is over as soon as something holds.
func (w *World) wait(limit time.Duration, what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func (w *World) associated(limit time.Duration) {
	w.t.Helper()
	w.wait(limit, "SMF and UPF are associated", func() bool { return w.value("pfcp_associations") == 1 })
}

func (w *World) value(name string) float64 {
	value, err := w.metric(name)
	if err != nil {
		return -1
	}
	return value
}

// metric asks the UPF.
func (w *World) metric(name string) (float64, error) {
	response, err := http.Get("http://" + upfAddress + ":9098/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), name+" "); found {
			return strconv.ParseFloat(rest, 64)
		}
	}
	return 0, fmt.Errorf("no metric %s", name)
}
