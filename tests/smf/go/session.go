package smf

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"path"
	"time"
)

// soon is what an SMF and a UPF have for one step; an SMF that waits for a message it cannot read needs 3 s and more.
const soon = time.Second

// Session is a PDU session: what AMF, gNB and UE know of it.
type Session struct {
	world  *World
	number int
	kind   byte
	supi   string

	context string // the SM context's URI at the SMF
	gnb     *Gnb
	teid    uint32 // the gNB's
	queue   chan Received
	uplink  Tunnel // the UPF's end
	qfis    []byte
	given   Addresses
	ipv6    netip.Addr
	pings   uint16
}

func (w *World) session(number int, kind byte) *Session {
	return &Session{world: w, number: number, kind: kind, supi: fmt.Sprintf("imsi-0010100000%05d", number)}
}

// location is where the UE is; its time makes it another one each time, as AMFs have it.
func location() map[string]any {
	return map[string]any{"nrLocation": map[string]any{
		"tai":  map[string]any{"plmnId": plmn, "tac": "000001"},
		"ncgi": map[string]any{"plmnId": plmn, "nrCellId": "000000010"}, "ueLocationTimestamp": time.Now().UTC().Format(time.RFC3339Nano)}}
}

// post sends a request to the SMF, and reads its answer.
func (s *Session) post(uri string, data any, parts ...Part) (*http.Response, map[string]any, map[string][]byte, error) {
	body, kind := encode(data, parts...)
	response, err := s.world.client.Post(uri, kind, bytes.NewReader(body))
	if err != nil {
		return nil, nil, nil, err
	}
	defer response.Body.Close()
	read, binary, err := decode(response.Header.Get("Content-Type"), response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("HTTP %d %v", response.StatusCode, read)
	}
	return response, read, binary, err
}

func (s *Session) modify(data map[string]any, parts ...Part) (map[string]any, map[string][]byte, error) {
	_, read, binary, err := s.post(s.context+"/modify", data, parts...)
	return read, binary, err
}

// n2 sends the SMF what a gNB says.
func (s *Session) n2(kind string, transfer []byte, data map[string]any) (map[string]any, error) {
	if data == nil {
		data = map[string]any{}
	}
	data["n2SmInfoType"], data["n2SmInfo"] = kind, map[string]any{"contentId": "n2"}
	read, _, err := s.modify(data, Part{"n2", typeNGAP, transfer})
	return read, err
}

// transfer waits for what the SMF sends to the UE and its gNB.
func (s *Session) transfer(limit time.Duration) (Transfer, error) {
	select {
	case transfer := <-s.world.core.of(s.supi):
		return transfer, nil
	case <-time.After(limit):
		return Transfer{}, fmt.Errorf("no N1N2MessageTransfer within %v", limit)
	}
}

// create asks for the session, until the UE has its address and the gNB the UPF's end of the tunnel.
func (s *Session) create() error {
	data := map[string]any{
		"supi": s.supi, "pei": fmt.Sprintf("imeisv-00000000000%05d", s.number), "gpsi": fmt.Sprintf("msisdn-99000%05d", s.number),
		"pduSessionId": 1, "dnn": dnn, "sNssai": slice, "servingNfId": amfID, "guami": guami(), "servingNetwork": plmn,
		"requestType": "INITIAL_REQUEST", "n1SmMsg": map[string]any{"contentId": "n1"}, "anType": "3GPP_ACCESS", "ratType": "NR",
		"ueLocation": location(), "ueTimeZone": "+00:00", "smContextStatusUri": coreURI + "/status/" + s.supi, "selMode": "VERIFIED"}
	response, _, _, err := s.post("http://127.0.0.4:7777/nsmf-pdusession/v1/sm-contexts", data, Part{"n1", typeNAS, establishmentRequest(1, 1, s.kind)})
	if err != nil {
		return err
	}
	s.context = response.Header.Get("Location")
	if product() == "free5gc" { // its references are URNs, of which its Location lacks the beginning
		base, reference := path.Split(s.context)
		s.context = base + "urn:uuid:" + reference
	}
	transfer, err := s.transfer(5 * time.Second)
	if err != nil {
		return err
	}
	if s.given, err = accepted(transfer.N1); err != nil {
		return err
	}
	return s.tunnels(transfer.N2)
}

func (s *Session) tunnels(transfer []byte) error {
	tunnel, qfi, err := setupRequest(transfer)
	s.uplink = tunnel
	if len(s.qfis) == 0 {
		s.qfis = []byte{qfi}
	}
	return err
}

// flow lets gNB and UE agree to the QoS flow of a PCC rule, which Open5GS adds when the session is there.
func (s *Session) flow() error {
	if s.world.options.Policy.Rule == nil || product() != "open5gs" {
		return nil
	}
	transfer, err := s.transfer(soon)
	if err != nil {
		return err
	}
	qfi, err := modifyRequest(transfer.N2)
	if err != nil {
		return err
	}
	s.qfis = append(s.qfis, qfi)
	if _, err := s.n2("PDU_RES_MOD_RSP", modifyResponse([]byte{qfi}), nil); err != nil {
		return err
	}
	return s.n1(complete(transfer.N1))
}

// n1 sends the SMF what a UE says.
func (s *Session) n1(message []byte) error {
	_, _, err := s.modify(map[string]any{"n1SmMsg": map[string]any{"contentId": "n1"}}, Part{"n1", typeNAS, message})
	return err
}

// flows sends a datagram of the PCC rule's flow and one of another, and sees that they come with QFIs of their own.
func (s *Session) flows() error {
	if s.world.options.Policy.Rule == nil || !s.given.IPv4.IsValid() {
		return nil
	}
	var qfis [2]byte
	for index, port := range []uint16{plainPort, rulePort} {
		payload := fmt.Sprintf("flow %d", port)
		if err := s.datagram(s.given.IPv4, port, payload); err != nil {
			return err
		}
		received, err := s.received(s.queue, soon, payload, func(r Received) bool { return isDatagram(r.Packet, payload) })
		if err != nil {
			return err
		}
		qfis[index] = received.QFI
	}
	// free5GC's rule without a guaranteed rate also refers to the QER of the session's AMBR, which is first and has the default QFI: the
	// first QFI counts here and in free5GC's own UPF.
	if isFirst := product() == "free5gc" && s.world.options.Policy.Rule.GBR == ""; (qfis[0] == qfis[1]) != isFirst {
		return fmt.Errorf("the PCC rule's flow has QFI %d, others have %d", qfis[1], qfis[0])
	}
	return nil
}

// volume sends more octets to each address than the threshold after which free5GC is told of usage.
func (s *Session) volume() error {
	for number := range 20 {
		payload := fmt.Sprintf("volume %3d %100d", number, 0)
		if err := s.downlink(payload); err != nil {
			return err
		}
		if err := s.arrives(payload); err != nil {
			return err
		}
	}
	return nil
}

// datagram sends one from a port of the data network.
func (s *Session) datagram(to netip.Addr, port uint16, payload string) error {
	from := netip.MustParseAddr(dataNetwork4)
	if to.Is6() {
		from = netip.MustParseAddr(dataNetwork6)
	}
	_, err := s.world.network[netip.AddrPortFrom(from, port)].WriteToUDPAddrPort([]byte(payload), netip.AddrPortFrom(to, 9000))
	return err
}

// attach opens the gNB's end of the tunnel.
func (s *Session) attach(gnb *Gnb) Tunnel {
	s.gnb, s.teid = gnb, s.teid+uint32(s.number)<<8+1
	s.queue = gnb.listen(s.teid)
	return Tunnel{gnb.Address, s.teid}
}

// setUp tells the SMF the gNB's end of the tunnel.
func (s *Session) setUp(gnb *Gnb) error {
	s.world.core.rest(s.supi, false)
	_, err := s.n2("PDU_RES_SETUP_RSP", setupResponse(s.attach(gnb), s.qfis), nil)
	return err
}

// release ends the session, as an AMF does whose UE deregisters.
func (s *Session) release() error {
	_, _, _, err := s.post(s.context+"/release", map[string]any{"ngApCause": map[string]any{"group": 2, "value": 0}, "ueLocation": location()})
	return err
}

// idle releases the access network's resources: the UE sleeps.
func (s *Session) idle() error {
	s.world.core.rest(s.supi, true)
	_, _, err := s.modify(map[string]any{"upCnxState": "DEACTIVATED", "ngApCause": map[string]any{"group": 0, "value": 20}, "ueLocation": location()})
	return err
}

// wake is the UE's service request, until the SMF knows the gNB's end of the tunnel.
func (s *Session) wake(gnb *Gnb) error {
	data, parts, err := s.modify(map[string]any{"upCnxState": "ACTIVATING", "ueLocation": location(), "anType": "3GPP_ACCESS", "ratType": "NR"})
	if err != nil {
		return err
	}
	if err := s.tunnels(parts[text(data, "n2SmInfo", "contentId")]); err != nil {
		return err
	}
	return s.setUp(gnb)
}

// handover switches the path to another gNB.
func (s *Session) handover(gnb *Gnb) error {
	_, err := s.n2("PATH_SWITCH_REQ", pathSwitch(s.attach(gnb), s.qfis), map[string]any{"toBeSwitched": true, "ueLocation": location()})
	return err
}

// received waits for a packet; others are put aside.
func (s *Session) received(queue chan Received, limit time.Duration, what string, wanted func(Received) bool) (Received, error) {
	end := time.After(limit)
	for {
		select {
		case packet := <-queue:
			if wanted(packet) {
				return packet, nil
			}
		case <-end:
			return Received{}, fmt.Errorf("%s: %s not within %v", s.supi, what, limit)
		}
	}
}

// addresses are the UE's.
func (s *Session) addresses() []netip.Addr {
	var all []netip.Addr
	if s.given.IPv4.IsValid() {
		all = append(all, s.given.IPv4)
	}
	if s.ipv6.IsValid() {
		all = append(all, s.ipv6)
	}
	return all
}

// prefix asks for the IPv6 prefix by a Router Solicitation, which the UPF passes to the SMF.
func (s *Session) prefix() error {
	if s.given.InterfaceID == nil {
		return nil
	}
	address := func(prefix netip.Addr) netip.Addr {
		octets := prefix.As16()
		copy(octets[8:], s.given.InterfaceID)
		return netip.AddrFrom16(octets)
	}
	if err := s.gnb.send(s.uplink, s.qfis[0], routerSolicitation(address(netip.MustParseAddr("fe80::")))); err != nil {
		return err
	}
	_, err := s.received(s.queue, soon, "a Router Advertisement", func(r Received) bool {
		prefix, found := advertised(r.Packet)
		if found {
			s.ipv6 = address(prefix)
		}
		return found
	})
	return err
}

// ping sends a ping from each address of the UE, and waits for its answer.
func (s *Session) ping(limit time.Duration) error {
	for _, from := range s.addresses() {
		to := netip.MustParseAddr(dataNetwork4)
		if from.Is6() {
			to = netip.MustParseAddr(dataNetwork6)
		}
		s.pings++
		number := s.pings
		if err := s.gnb.send(s.uplink, s.qfis[0], ping(from, to, number)); err != nil {
			return err
		}
		if _, err := s.received(s.queue, limit, "the answer to a ping from "+from.String(), func(r Received) bool { return isPong(r.Packet, number) }); err != nil {
			return err
		}
	}
	return nil
}

// downlink sends a datagram from the data network to each address of the UE.
func (s *Session) downlink(payload string) error {
	for _, to := range s.addresses() {
		if err := s.datagram(to, plainPort, payload); err != nil {
			return err
		}
	}
	return nil
}

// arrives waits for a datagram from the data network, once for each address of the UE.
func (s *Session) arrives(payload string) error {
	for range s.addresses() {
		if _, err := s.received(s.queue, soon, "downlink datagram "+payload, func(r Received) bool { return isDatagram(r.Packet, payload) }); err != nil {
			return err
		}
	}
	return nil
}

// again pings until an answer comes.
func (s *Session) again(limit time.Duration) error {
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if err = s.ping(20 * time.Millisecond); err == nil {
			return nil
		}
	}
	return err
}

// released waits for the SMF to release the session, and lets gNB and UE agree.
func (s *Session) released() error {
	transfer, err := s.transfer(20 * time.Second)
	if err != nil {
		return err
	}
	if transfer.Kind != "PDU_RES_REL_CMD" || len(transfer.N1) < 4 || transfer.N1[3] != 0xd3 {
		return fmt.Errorf("no PDU Session Release Command but %s %x", transfer.Kind, transfer.N1)
	}
	if _, err := s.n2("PDU_RES_REL_RSP", releaseResponse, nil); err != nil {
		return err
	}
	return s.n1(complete(transfer.N1))
}
