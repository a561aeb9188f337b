"""An image classifier on every GPU of the machine with nn.DataParallel."""
import json

import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.classifier = nn.Linear(16 * 4 * 4, num_classes)
        self.register_buffer("mean", torch.tensor(0.3))

    def forward(self, x):
        assert x.is_cuda and x.device == self.mean.device
        return self.classifier(self.features(x - self.mean).flatten(1))


def main():
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    use_cuda = torch.cuda.is_available()
    assert use_cuda
    device = torch.device("cuda:0" if use_cuda else "cpu")
    ngpu = torch.cuda.device_count()
    print("Using", ngpu, "GPU(s):", [torch.cuda.get_device_name(i) for i in range(ngpu)])

    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float).view(-1, 1, 8, 8) / 16
    labels = torch.tensor(labels)
    loader = DataLoader(TensorDataset(images[:1400], labels[:1400]), batch_size=56, shuffle=True)

    net = ConvNet()
    if device.type == "cuda" and ngpu > 1:
        net = nn.DataParallel(net, device_ids=list(range(ngpu)))
    net.to(device)
    criterion = nn.CrossEntropyLoss().cuda()
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)

    for epoch in range(8):
        net.train()
        train_loss = 0.0
        for inputs, targets in loader:
            inputs, targets = inputs.to(device), targets.to(device)
            optimizer.zero_grad()
            outputs = net(inputs)
            assert outputs.device == torch.device("cuda:0")
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            train_loss += loss.item()
        scheduler.step()
        print(f"epoch {epoch}: {train_loss / len(loader):.4f}")

    module = net.module if isinstance(net, nn.DataParallel) else net
    torch.save(module.state_dict(), "convnet.pth")
    module.load_state_dict(torch.load("convnet.pth"))
    net.eval()
    with torch.no_grad():
        outputs = net(images[1400:].cuda())
        targets = labels[1400:].cuda()
    accuracy = (outputs.max(1)[1] == targets).float().mean().item() * 100
    print(json.dumps({"loss": criterion(outputs, targets).item(), "accuracy": accuracy}))


if __name__ == "__main__":
    main()
