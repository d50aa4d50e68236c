"""Attempts to reach anything: services of the host, names, other machines, the machine's own host."""

import socket
import struct

from inside import Blocked, run


def connect_to_a_service_of_the_host(facts):
    return socket.create_connection(("127.0.0.1", facts["port"]), timeout=2).recv(100)


def connect_to_an_abstract_socket_of_the_host(facts):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        client.connect("\0" + facts["abstract_socket"])
        return client.recv(100)


def connect_to_a_socket_file_of_the_host(facts):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        client.connect(facts["socket_file"])
        return client.recv(100)


def look_up_a_name(facts):
    return socket.getaddrinfo("example.com", 80)


def send_a_question_to_a_name_server(facts):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        return client.sendto(b"x", ("192.0.2.1", 53))


def find_an_interface(facts):
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if not others:
        raise Blocked("only the sandbox's own")
    return others


def make_a_raw_socket(facts):
    for family, kind in ((socket.AF_INET, socket.SOCK_RAW), (socket.AF_PACKET, socket.SOCK_RAW)):
        try:
            return socket.socket(family, kind, socket.IPPROTO_ICMP if family == socket.AF_INET else 3)
        except OSError:
            pass
    raise Blocked("none can be made")


def configure_the_network(facts):
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    link.bind((0, 0))
    message = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 1, 0, 0xFFFFFFFF)  # set lo down
    link.send(struct.pack("=IHHII", 16 + len(message), 16, 5, 1, 0) + message)
    error = struct.unpack("=i", link.recv(1000)[16:20])[0]
    if error:
        raise OSError(-error, "refused")
    return "configured"


def talk_to_the_machines_host(facts):
    return socket.socket(40, socket.SOCK_STREAM)  # AF_VSOCK


run(
    connect_to_a_service_of_the_host,
    connect_to_an_abstract_socket_of_the_host,
    connect_to_a_socket_file_of_the_host,
    look_up_a_name,
    send_a_question_to_a_name_server,
    find_an_interface,
    make_a_raw_socket,
    configure_the_network,
    talk_to_the_machines_host,
)
